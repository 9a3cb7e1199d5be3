import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROVED_FOR_MS } from '#database/connection/in-force.ts';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome } from '../harness/gateway-client.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { type ReplicatedPostgres, startReplicatedPostgres } from './replicated-postgres.ts';

/**
 * PostgreSQL's primary dies, and its address leads to a standby that is promoted later. Replication
 * is synchronous, so both have every commit.
 */
/** Far below what an idle machine completes. It only proves that there was load. */
const LEAST_COMPLETE = 30;
const LOAD_MS = process.env.CI === 'true' ? 16_000 : 8_000;
/** Time for which the address leads to a read-only server. */
const UNPROMOTED_MS = 2_000;
/**
 * After the promotion. Connections are restored within a second, the rest is for a busy machine.
 */
const BACK_WITHIN_MS = 30_000;

requirement(missingRedis, () => {
  let redis: TestRedis;
  let postgres: ReplicatedPostgres;
  let provider: FakeProvider;
  let stack: SupervisedStack;

  beforeAll(async () => {
    redis = await startTestRedis();
    postgres = await startReplicatedPostgres();
    provider = await startFakeProvider({ record: false });
    provider.script('exact', plannedAnswer);
    stack = await startSupervisedStack({
      postgresSocketDir: postgres.socketDir,
      config: {
        redis: redis.url,
        workers: 2,
        providers: { fake: { base_url: provider.baseUrl } },
        models: { exact: PLANNED_MODEL },
        timeouts: { first_byte: '20s', stream_idle: '20s', total: '40s' },
      },
    });
  });
  afterAll(async () => {
    await stack?.close();
    await provider?.close();
    await postgres?.stop();
    await redis?.stop();
  });
  showLogsOnFailure(() => stack);

  const epoch = async (): Promise<string | undefined> => {
    const [row] = await sql<{ epoch: string }>(stack.databaseUrl, 'select epoch from ledger_state');
    return row?.epoch;
  };

  test('after a failover under load nothing is lost or charged twice, and no repair is needed', async () => {
    const customer = await stack.operator.customer();
    const client = gatewayClient(stack.origin, customer.key);
    const epochBefore = await epoch();
    const startMs = performance.now();
    const loading = plannedLoad([client], startMs + LOAD_MS);
    await sleep(LOAD_MS / 4);

    await postgres.killPrimary();
    const killedMs = performance.now();
    postgres.switchToStandby();
    // Until then the proof of a cached caller may be valid.
    await sleep(PROVED_FOR_MS);
    while (performance.now() < killedMs + UNPROMOTED_MS) {
      // The standby could identify the caller, but not charge for the request.
      expect(outcome(await client.get('/v1/models'))).toBe('503 no_capacity');
    }
    await postgres.promote();
    const promotedMs = performance.now();
    while (outcome(await client.chat({ model: 'exact', max_tokens: 10 })) !== '200') {
      expect(performance.now() - promotedMs).toBeLessThan(BACK_WITHIN_MS);
      await sleep(20);
    }

    const tally = await loading;
    await untilSettled(stack, BACK_WITHIN_MS);
    await expectCharged(stack.databaseUrl, tally);
    await stack.operator.verifyLedger();
    // Responses that were in progress are complete. All other requests were refused.
    expect(Object.keys(tally.outcomes).sort()).toEqual(['503', 'complete']);
    expect(tally.complete.size).toBeGreaterThan(LEAST_COMPLETE);
    // A new epoch: state about the former server is not trusted.
    expect(await epoch()).not.toBe(epochBefore);
    await expect.poll(() => stack.logs()).toContain('PostgreSQL did not take charges: they wait in the log');
    client.close();
  });
});
