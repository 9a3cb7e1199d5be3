import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { startMockProvider } from './children.ts';
import { type Percentiles, percentiles } from './load-job.ts';
import type { AttackJob, AttackName, AttackResult } from './neighbour-job.ts';

/** Two organizations on one gateway. */
export interface Neighbours {
  readonly stack: Stack;
  readonly attackerKeys: readonly string[];
  readonly other: GatewayClient;
  close(): Promise<void>;
}

export interface NeighbourResult {
  /** Latency of the other organization's requests. */
  readonly latencyMs: Percentiles;
  readonly sent: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Outcomes of the attacker's requests. */
  readonly attacker: AttackResult;
}

const MODELS = ['json', 'big-json', 'held-stream', 'silent-stream'];
const KEYS = 1000;
const EVERY_MS = 50;

export async function startNeighbours(postgresSocketDir: string): Promise<Neighbours> {
  const provider = await startMockProvider();
  const stack = await startStack({
    postgresSocketDir,
    config: {
      providers: { mock: { base_url: `http://127.0.0.1:${provider.port}/v1` } },
      models: Object.fromEntries(MODELS.map((name) => [name, { capabilities: ['vision'] }])),
      limits: { read_rpm: 600 },
      address_requests: 2_000,
      timeouts: { first_byte: '60s', stream_idle: '60s', total: '120s' },
    },
  });
  const { operator, origin } = stack;
  const attacker = await operator.customer({ credit: '1000000' });
  const more = await Promise.all(Array.from({ length: KEYS - 1 }, () => operator.addKey(attacker.organizationId)));
  const other = gatewayClient(origin, (await operator.customer({ credit: '1000' })).key);
  return {
    stack,
    attackerKeys: [attacker.key, ...more.map(({ key }) => key)],
    other,
    close: async () => {
      other.close();
      await stack.close();
      await provider.stop();
    },
  };
}

/**
 * Sends 20 requests of 1 KB a second for the other organization during the attack, without waiting
 * for responses.
 */
export async function runNeighbours(
  neighbours: Neighbours,
  attack: AttackName | undefined,
  forMs: number,
): Promise<NeighbourResult> {
  const { stack, attackerKeys: keys, other } = neighbours;
  const attacking = attack === undefined ? {} : runAttack({ attack, origin: stack.origin, forMs, keys });
  const latencies: number[] = [];
  const faults: Record<string, number> = {};
  const asking: Promise<void>[] = [];
  const one = async (): Promise<void> => {
    const sentAtMs = performance.now();
    const ended = await other.chat(BODY).then(outcome, (error: Error) => error.message);
    if (ended === '200') latencies.push(performance.now() - sentAtMs);
    else faults[ended] = (faults[ended] ?? 0) + 1;
  };
  const beganMs = performance.now();
  while (performance.now() - beganMs < forMs) {
    asking.push(one());
    await sleep(Math.max(0, beganMs + asking.length * EVERY_MS - performance.now()));
  }
  await Promise.all(asking);
  return { latencyMs: percentiles(latencies), sent: asking.length, faults, attacker: await attacking };
}

const BODY = { model: 'json', messages: [{ role: 'user', content: 'Hello '.repeat(150) }] };

async function runAttack(job: AttackJob): Promise<AttackResult> {
  const child = fork(resolve(import.meta.dirname, 'neighbour-attacker.ts'));
  const exit = once(child, 'exit');
  await once(child, 'message');
  child.send(job);
  const [result] = (await Promise.race([once(child, 'message'), exit])) as [AttackResult | number];
  if (typeof result !== 'object') throw new Error(`the attacker of ${job.attack} ended with ${result}`);
  await exit;
  return result;
}
