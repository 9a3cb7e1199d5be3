import { startTestPostgres } from '../harness/postgres-server.ts';
import type { ProcessGroup } from '../harness/process-cpu.ts';
import { startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { type Stack, type SupervisedStack, startStack, startSupervisedStack } from '../harness/stack.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { keepToBinaries } from '../launchers/open-launcher.ts';
import { type Generator, type MockProvider, startGenerator, startMockProvider } from '../load/children.ts';
import { startPeer } from './peer.ts';
import { startPlainEnvoy } from './plain-envoy.ts';

/** The sides of the comparison, in the order in which their rounds alternate. */
export const PLAIN = 'plain Envoy';
export const GATEWAY = 'gateway';
export const WITH_REDIS = 'gateway, Redis, 2 workers';
/** Only where its binary is at hand. */
export const PEER = 'Agent Router';
export type SideName = typeof PLAIN | typeof GATEWAY | typeof WITH_REDIS | typeof PEER;

/** Organizations of a gateway's side, with a key each. */
export const ORGANIZATIONS = 50;

export interface Side {
  readonly name: SideName;
  readonly origin: string;
  /** Keys of one organization each. */
  readonly keys: readonly string[];
  /** The processes whose CPU and memory are counted. */
  readonly processes: ProcessGroup;
}

export interface BenchSetup {
  readonly sides: readonly Side[];
  readonly generator: Generator;
  readonly provider: MockProvider;
  /** Every charge is in the ledger once, after all of the load. */
  verifyLedgers(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

/**
 * Starts everything that a bench needs: one provider, one load generator, one PostgreSQL with
 * `fsync`, and the sides. `peerBinary` is the peer's ext_proc service.
 */
export async function startSides(names: readonly SideName[], peerBinary = ''): Promise<BenchSetup> {
  keepToBinaries();
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of closing.splice(0).reverse()) await closeOne();
  };
  const kept = async <T extends { stop(): Promise<void> } | { close(): Promise<void> }>(starting: Promise<T>) => {
    const started = await starting;
    closing.push(() => ('stop' in started ? started.stop() : started.close()));
    return started;
  };
  try {
    const provider = await kept(startMockProvider());
    const postgres = await kept(startTestPostgres());
    const stacks: (Stack | SupervisedStack)[] = [];
    const starters: Record<SideName, () => Promise<Side>> = {
      [PLAIN]: async () => {
        const { origin, pid } = await kept(startPlainEnvoy(provider.port));
        return { name: PLAIN, origin, keys: [], processes: { envoy: [pid] } };
      },
      [PEER]: async () => {
        const { origin, pid, extProcPid } = await kept(startPeer(peerBinary, provider.port));
        return { name: PEER, origin, keys: [], processes: { envoy: [pid], gateway: [extProcPid] } };
      },
      [GATEWAY]: async () => {
        const options = { postgresSocketDir: postgres.socketDir, config: configOf(provider) };
        const stack = await kept(startStack(options));
        stacks.push(stack);
        const { envoy, gateway } = stack;
        return gatewaySide(GATEWAY, stack, {
          envoy: [envoy.pid],
          gateway: [gateway.pid],
          postgres: [postgres.pid],
        });
      },
      [WITH_REDIS]: async () => {
        const redis = await kept(startTestRedis());
        const config = { ...configOf(provider), redis: redis.url, workers: 2 };
        const stack = await kept(startSupervisedStack({ postgresSocketDir: postgres.socketDir, config }));
        stacks.push(stack);
        return gatewaySide(WITH_REDIS, stack, { ...supervisedProcesses(stack, redis), postgres: [postgres.pid] });
      },
    };
    const sides: Side[] = [];
    for (const name of names) sides.push(await starters[name]());
    return {
      sides,
      generator: await kept(startGenerator()),
      provider,
      verifyLedgers: async () => {
        for (const stack of stacks) await stack.operator.verifyLedger();
      },
      logs: () => stacks.map((stack) => stack.logs()).join('\n'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function configOf(provider: MockProvider): TestConfig {
  return {
    providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
    models: {
      ...{ json: {}, 'fast-stream': {}, 'openai-stream': {}, 'paced-stream': {} },
      'responses-stream': { targets: [{ provider: 'mock', model: 'responses-stream', api: 'responses' }] },
      'messages-stream': { targets: [{ provider: 'mock', model: 'messages-stream', api: 'anthropic' }] },
    },
    timeouts: { first_byte: '60s', stream_idle: '60s', total: '120s' },
  };
}

async function gatewaySide(name: SideName, stack: Stack | SupervisedStack, processes: ProcessGroup): Promise<Side> {
  const keys: string[] = [];
  while (keys.length < ORGANIZATIONS) {
    const customer = { credit: '100000', organization: { concurrency: 10_000 } };
    keys.push((await stack.operator.customer(customer)).key);
  }
  return { name, origin: stack.origin, keys, processes };
}

function supervisedProcesses({ supervisorPid }: SupervisedStack, redis: TestRedis): ProcessGroup {
  return {
    envoy: supervisedChildren(supervisorPid, 'envoy.yaml'),
    gateway: supervisedChildren(supervisorPid, 'ext-proc/main.ts'),
    redis: [redis.pid],
  };
}
