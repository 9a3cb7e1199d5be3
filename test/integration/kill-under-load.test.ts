import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { missingRedis, startTestRedis, type TestRedis } from '../contract/redis-server.ts';
import { jsonAnswer, slowly, streamAnswer } from '../provider/acts.ts';
import type { Act } from '../provider/call.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { requirement } from '../requirement.ts';
import { eventsOf, type GatewayClient, gatewayClient } from './gateway-client.ts';
import type { Received } from './http-client.ts';
import { startTestPostgres, type TestPostgres } from './postgres-server.ts';
import { type SupervisedStack, startSupervisedStack } from './stack.ts';
import { supervisedChildren } from './supervised-children.ts';

/** The full proof: KILL_LOAD_SECONDS=60. */
const LOAD_MS = Number(process.env.KILL_LOAD_SECONDS ?? '10') * 1000;
const IN_FLIGHT = 32;
const LIMIT = 400;
const SMALL_CREDIT_USD = '0.005';
const QUIET_MS = 40_000;
const LIMIT_MS = LOAD_MS + 120_000;

interface Scene {
  readonly postgres: TestPostgres;
  readonly provider: FakeProvider;
  readonly stack: SupervisedStack;
}

interface Tally {
  /** Complete answers that a client received: what each has to be charged, in nano-dollars. */
  readonly complete: Map<string, bigint>;
  readonly outcomes: Record<string, number>;
}

/** A token of output costs a thousand nano-dollars, and nothing else costs anything: a hold is exactly its limit. */
const costOf = (plan: number): bigint => 1000n * BigInt(tokensOf(plan));
const tokensOf = (plan: number): number => 1 + ((plan * 7919) % LIMIT);

const answerPlan: Act = (call) => {
  const plan = Number(/plan (\d+)/.exec(call.seen.body.toString())?.[1]);
  const usage = { prompt_tokens: 3, completion_tokens: tokensOf(plan) };
  const act = call.seen.stream ? streamAnswer({ usage, paceMs: 20 }) : slowly(60, jsonAnswer({ usage }));
  return act(call);
};

async function withScene(redis: TestRedis | undefined, workers: number, play: (scene: Scene) => Promise<void>) {
  const postgres = await startTestPostgres();
  const provider = await startFakeProvider({ record: false });
  provider.script('exact', answerPlan);
  const stack = await startSupervisedStack({
    postgresSocketDir: postgres.socketDir,
    config: {
      ...(redis ? { redis: redis.url, workers } : {}),
      providers: { fake: { base_url: provider.baseUrl } },
      models: { exact: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: { first_byte: '5s', stream_idle: '5s', total: '20s' },
    },
  });
  try {
    await play({ postgres, provider, stack });
  } catch (error) {
    process.stderr.write(
      stack
        .logs()
        .split('\n')
        .filter((line) => line.includes('"level":"error"'))
        .slice(-5)
        .join('\n'),
    );
    throw error;
  } finally {
    if (postgres.isDown()) await postgres.restart();
    await stack.close();
    await provider.close();
    await postgres.stop();
  }
}

/** Keeps 32 requests in flight until the time is over, whatever happens to them. */
async function load(clients: readonly GatewayClient[], untilMs: number): Promise<Tally> {
  const tally: Tally = { complete: new Map(), outcomes: {} };
  let plans = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const plan = plans++;
      const outcome = await one(clients[plan % clients.length], plan, tally);
      tally.outcomes[outcome] = (tally.outcomes[outcome] ?? 0) + 1;
      if (outcome !== 'complete') await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return tally;
}

async function one(client: GatewayClient | undefined, plan: number, tally: Tally): Promise<string> {
  if (!client) throw new Error('there is a client for every plan');
  const stream = plan % 2 === 0;
  const messages = [{ role: 'user', content: `plan ${plan}` }];
  try {
    const received = await client.chat({ model: 'exact', max_tokens: LIMIT, stream, messages });
    if (received.status !== 200) return String(received.status);
    if (!isComplete(received, stream)) return 'broken';
    tally.complete.set(String(received.headers['x-generation-id']), costOf(plan));
    return 'complete';
  } catch {
    return 'cut';
  }
}

function isComplete(received: Received, stream: boolean): boolean {
  if (!stream) return JSON.parse(received.text).object === 'chat.completion';
  return eventsOf(received).at(-1) === '[DONE]' && !received.text.includes('"finish_reason":"error"');
}

async function killGateway({ stack }: Scene): Promise<void> {
  const processes = () => supervisedChildren(stack.supervisorPid, 'ext-proc/main.ts');
  // The one before may be on its way back.
  await expect.poll(() => processes().length, { timeout: 10_000 }).toBeGreaterThan(0);
  const [victim] = processes();
  if (victim !== undefined) process.kill(victim, 'SIGKILL');
}

async function killPostgres({ postgres }: Scene): Promise<void> {
  await postgres.crash();
  await sleep(LOAD_MS / 20);
  await postgres.restart();
}

/** The accidents spread over the time of the load. */
async function playUnderLoad(scene: Scene, accidents: readonly (() => Promise<void>)[]): Promise<void> {
  const { stack } = scene;
  const rich = await stack.operator.customer();
  const poor = await stack.operator.customer({ credit: SMALL_CREDIT_USD });
  const clients = [rich, rich, rich, poor].map(({ key }) => gatewayClient(stack.origin, key));
  const startMs = performance.now();
  const loading = load(clients, startMs + LOAD_MS);
  for (const [index, accident] of accidents.entries()) {
    await sleep(Math.max(0, startMs + ((index + 1) * LOAD_MS) / (accidents.length + 2) - performance.now()));
    await accident();
  }
  const tally = await loading;
  await untilQuiet(scene);
  await expectRight(scene, tally);
  for (const client of clients) client.close();
  // There was load, and it was disturbed; the poor customer ran out.
  expect(tally.complete.size).toBeGreaterThan(LOAD_MS / 50);
  expect(tally.outcomes['402']).toBeGreaterThan(0);
  expect(tally.outcomes['503']).toBeGreaterThan(0);
}

/** What waits in spools is in the ledger. */
async function untilQuiet({ stack }: Scene): Promise<void> {
  const folder = join(stack.paths.dataDir, 'spool');
  const isWaiting = () => readdirSync(folder).some((name) => statSync(join(folder, name)).size > 0);
  const isReady = () =>
    fetch(`${stack.metricsOrigin}/ready`).then(
      ({ status }) => status === 200,
      () => false,
    );
  const deadline = performance.now() + QUIET_MS;
  while (isWaiting() || !(await isReady())) {
    if (performance.now() > deadline) throw new Error('charges still wait in the spool, or the gateway is not ready');
    await sleep(100);
  }
}

async function expectRight({ stack }: Scene, { complete }: Tally): Promise<void> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const charges = await client.query<{ id: string; amount: string; times: string }>(
      `select generation_id as id, sum(-amount_nano_usd) as amount, count(*) as times
       from ledger_entries where kind = 'charge' group by generation_id`,
    );
    const charged = new Map(charges.rows.map(({ id, amount, times }) => [id, `${times} x ${amount}`]));
    const wrong = [...complete].filter(([id, cost]) => charged.get(id) !== `1 x ${cost}`);
    expect(wrong.map(([id, cost]) => `${id}: ${charged.get(id)} instead of ${cost}`)).toEqual([]);
    const lowest = await client.query<{ lowest: string }>('select min(balance_nano_usd) as lowest from ledger_entries');
    expect(Number(lowest.rows[0]?.lowest)).toBeGreaterThanOrEqual(0);
  } finally {
    await client.end();
  }
  await stack.operator.verifyLedger();
}

describe('32 in flight while processes are killed: every complete answer is charged once and right', () => {
  test(
    'one gateway process, then PostgreSQL, then both again',
    () =>
      withScene(undefined, 1, (scene) =>
        playUnderLoad(scene, [
          () => killGateway(scene),
          () => killPostgres(scene),
          () => killGateway(scene),
          () => killPostgres(scene),
        ]),
      ),
    LIMIT_MS,
  );

  requirement(missingRedis, () => {
    test(
      'one of two gateway processes, PostgreSQL, and what Redis remembers',
      async () => {
        const redis = await startTestRedis();
        try {
          await withScene(redis, 2, (scene) =>
            playUnderLoad(scene, [
              () => killGateway(scene),
              () => killPostgres(scene),
              async () => void (await redis.admin.flushall()),
              () => redis.restart(),
            ]),
          );
        } finally {
          await redis.stop();
        }
      },
      LIMIT_MS,
    );
  });
});
