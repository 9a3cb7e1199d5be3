import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { metric } from '../harness/metrics-page.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad, type Tally } from '../load/planned-answers.ts';
import { startFakeProvider } from '../provider/fake-provider.ts';
import { type ReplicatedPostgres, startReplicatedPostgres } from './replicated-postgres.ts';

/**
 * PostgreSQL's primary dies with commits that its asynchronous standby never received, and the
 * standby is promoted.
 */
const LOAD_MS = 2_000;
const BACK_WITHIN_MS = 30_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openStack(postgres: ReplicatedPostgres, redis?: string): Promise<SupervisedStack> {
  const provider = await startFakeProvider({ record: false });
  closing.push(() => provider.close());
  provider.script('exact', plannedAnswer);
  const stack = await startSupervisedStack({
    postgresSocketDir: postgres.socketDir,
    config: {
      ...(redis === undefined ? {} : { redis, workers: 2 }),
      providers: { fake: { base_url: provider.baseUrl } },
      models: { exact: PLANNED_MODEL },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '40s' },
    },
  });
  closing.push(() => stack.close());
  return stack;
}

async function chargedIds({ databaseUrl }: SupervisedStack): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }>(databaseUrl, 'select id from generations');
  return new Set(rows.map(({ id }) => id));
}

async function play(postgres: ReplicatedPostgres, redis?: string): Promise<void> {
  const stack = await openStack(postgres, redis);
  const customer = await stack.operator.customer();
  const client = gatewayClient(stack.origin, customer.key);
  closing.push(async () => client.close());
  const load = () => plannedLoad([client], performance.now() + LOAD_MS);
  const before = await load();
  await postgres.stopReplication();
  const lost = await load();
  expect(lost.complete.size).toBeGreaterThan(30);
  await untilSettled(stack, BACK_WITHIN_MS);

  await postgres.killPrimary();
  postgres.switchToStandby();
  await postgres.promote();
  // The primary's last commits are lost. No request must be admitted against a balance without
  // them.
  const promotedMs = performance.now();
  while (outcome(await client.chat({ model: 'exact', max_tokens: 10 })) !== '200') {
    expect(performance.now() - promotedMs).toBeLessThan(BACK_WITHIN_MS);
    await sleep(20);
  }
  const charged = await chargedIds(stack);
  const missing = [...before.complete.keys(), ...lost.complete.keys()].filter((id) => !charged.has(id));
  expect(missing).toEqual([]);
  const after = await load();
  await untilSettled(stack, BACK_WITHIN_MS);
  const complete = new Map([before, lost, after].flatMap((tally) => [...tally.complete]));
  await expectCharged(stack.databaseUrl, { complete, outcomes: {} } satisfies Tally);
  await stack.operator.verifyLedger();
  // Polls, because the metrics page omits processes that are too busy to respond.
  await expect
    .poll(() => metric(stack.metricsOrigin, 'gateway_charges_made_again_total'))
    .toBeGreaterThanOrEqual(lost.complete.size);
}

async function openPostgres(): Promise<ReplicatedPostgres> {
  const postgres = await startReplicatedPostgres('async');
  closing.push(() => postgres.stop());
  return postgres;
}

test('every complete response is charged on the new primary by the process that had charged it', async () => {
  await play(await openPostgres());
});

requirement(missingRedis, () => {
  test('each of two processes repeats its own charges on the new primary', async () => {
    const redis = await startTestRedis();
    closing.push(() => redis.stop());
    await play(await openPostgres(), redis.url);
  });
});
