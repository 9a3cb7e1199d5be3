import { randomBytes } from 'node:crypto';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import type { ProcessGroup } from '../harness/process-cpu.ts';
import { startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { type Stack, type SupervisedStack, startStack, startSupervisedStack } from '../harness/stack.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { keepToBinaries } from '../launchers/open-launcher.ts';
import {
  type Generator,
  type MockProvider,
  startFarPostgres,
  startGenerator,
  startMockProvider,
} from '../load/children.ts';
import { startPeer } from './peer.ts';
import { startRateLimitService } from './peer-limits.ts';
import { startPlainEnvoy } from './plain-envoy.ts';

/** The sides of the comparison, in the order in which their rounds alternate. */
export const PLAIN = 'plain Envoy';
export const GATEWAY = 'gateway';
export const WITH_REDIS = 'gateway, Redis, 2 workers';
/** Delay that is added to a round trip to PostgreSQL. */
const AWAY_MS = 5;
export const FAR = 'gateway, PostgreSQL 5 ms away';
/** Measured only if its binary is given. */
export const PEER = 'Agent Router';
/** Measured only if the binary of the rate limit service is given too. */
export const LIMITED_PEER = 'Agent Router, keys and token limits';
/** The sides without a request log. */
export const OTHERS: readonly SideName[] = [PLAIN, PEER, LIMITED_PEER];
/** The sides with which every scenario can be measured. */
export const ALL: readonly SideName[] = [PLAIN, GATEWAY, WITH_REDIS, PEER, LIMITED_PEER];
export type SideName =
  | typeof PLAIN
  | typeof GATEWAY
  | typeof WITH_REDIS
  | typeof FAR
  | typeof PEER
  | typeof LIMITED_PEER;

/** Organizations of each gateway side, with one key each. */
export const ORGANIZATIONS = 50;

export interface Side {
  readonly name: SideName;
  readonly origin: string;
  /** One key of each organization. */
  readonly keys: readonly string[];
  /** The processes whose CPU and memory are counted. */
  readonly processes: ProcessGroup;
}

export interface BenchSetup {
  readonly sides: readonly Side[];
  readonly generator: Generator;
  readonly provider: MockProvider;
  /** Throws unless every charge of the load is in the ledger exactly once. */
  verifyLedgers(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

/** Paths of the binaries of the peer's sides. */
export interface PeerBinaries {
  readonly extProc?: string | undefined;
  readonly rateLimit?: string | undefined;
}

/** Starts a provider, a load generator, a PostgreSQL server with `fsync`, and the sides. */
export async function startSides(names: readonly SideName[], peer: PeerBinaries = {}): Promise<BenchSetup> {
  keepToBinaries();
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closeOne of closing.splice(0).reverse()) await closeOne();
  };
  const kept: Keep = async (starting) => {
    const started = await starting;
    closing.push(() => ('stop' in started ? started.stop() : started.close()));
    return started;
  };
  try {
    const provider = await kept(startMockProvider());
    const postgres = await kept(startTestPostgres());
    const stacks: (Stack | SupervisedStack)[] = [];
    const ours = gatewayStarters({ kept, provider, postgres, stacks });
    const starters: Record<SideName, () => Promise<Side>> = { ...ours, ...otherStarters(kept, provider.port, peer) };
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

/** Starts something that is stopped at the end of the bench. */
type Keep = <T extends { stop(): Promise<void> } | { close(): Promise<void> }>(starting: Promise<T>) => Promise<T>;

interface Surroundings {
  readonly kept: Keep;
  readonly provider: MockProvider;
  readonly postgres: TestPostgres;
  /** Every started stack is added here. */
  readonly stacks: (Stack | SupervisedStack)[];
}

function gatewayStarters({ kept, provider, postgres, stacks }: Surroundings) {
  const oneProcess = async (name: SideName, postgresSocketDir: string): Promise<Side> => {
    const stack = await kept(startStack({ postgresSocketDir, config: configOf(provider) }));
    stacks.push(stack);
    const { envoy, gateway } = stack;
    return gatewaySide(name, stack, { envoy: [envoy.pid], gateway: [gateway.pid], postgres: [postgres.pid] });
  };
  return {
    [GATEWAY]: () => oneProcess(GATEWAY, postgres.socketDir),
    [FAR]: async () => oneProcess(FAR, (await kept(startFarPostgres(postgres.socketDir, AWAY_MS))).host),
    [WITH_REDIS]: async (): Promise<Side> => {
      const redis = await kept(startTestRedis());
      const config = { ...configOf(provider), redis: redis.url, workers: 2 };
      const stack = await kept(startSupervisedStack({ postgresSocketDir: postgres.socketDir, config }));
      stacks.push(stack);
      return gatewaySide(WITH_REDIS, stack, { ...supervisedProcesses(stack, redis), postgres: [postgres.pid] });
    },
  };
}

function otherStarters(kept: Keep, providerPort: number, { extProc = '', rateLimit = '' }: PeerBinaries) {
  return {
    [PLAIN]: async (): Promise<Side> => {
      const { origin, pid } = await kept(startPlainEnvoy(providerPort));
      return { name: PLAIN, origin, keys: [], processes: { envoy: [pid] } };
    },
    [PEER]: async (): Promise<Side> => {
      const { origin, pid, extProcPid } = await kept(startPeer(extProc, providerPort));
      return { name: PEER, origin, keys: [], processes: { envoy: [pid], gateway: [extProcPid] } };
    },
    [LIMITED_PEER]: async (): Promise<Side> => {
      const redis = await kept(startTestRedis());
      const service = await kept(startRateLimitService(rateLimit, redis.port));
      const keys = Array.from({ length: ORGANIZATIONS }, () => randomBytes(32).toString('base64url'));
      const limits = { servicePort: service.port, keys };
      const { origin, pid, extProcPid } = await kept(startPeer(extProc, providerPort, limits));
      const processes = { envoy: [pid], gateway: [extProcPid, service.pid], redis: [redis.pid] };
      return { name: LIMITED_PEER, origin, keys, processes };
    },
  };
}

/**
 * Production's defaults, except for the bounds of an address on connections and requests, because
 * one address opens 2,000 connections for as many streams. The default of `address_rps` is above
 * what two cores serve.
 */
function configOf(provider: MockProvider): TestConfig {
  return {
    address_connections: 5_000,
    address_requests: 2_000,
    address_rps: 10_000,
    providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
    models: {
      ...{ json: {}, 'fast-stream': {}, 'openai-stream': {}, 'paced-stream': {} },
      'responses-stream': { targets: [{ provider: 'mock', model: 'responses-stream', api: 'responses' }] },
      'messages-stream': { targets: [{ provider: 'mock', model: 'messages-stream', api: 'anthropic' }] },
      'responses-json': { targets: [{ provider: 'mock', model: 'responses-json', api: 'responses' }] },
      'messages-json': { targets: [{ provider: 'mock', model: 'messages-json', api: 'anthropic' }] },
    },
    apis: { responses: true, messages: true },
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
