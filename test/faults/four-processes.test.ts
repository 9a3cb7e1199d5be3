import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { type GatewayClient, gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import type { CustomerOptions } from '../harness/operator.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { untilShipped } from '../harness/shipped.ts';
import { untilMinuteIsYoung } from '../harness/young-minute.ts';
import { startProcess } from '../launchers/child-process.ts';
import { allAtOnce, countOutcomes } from '../load/all-at-once.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { type GatewayPod, startGatewayPod } from './gateway-pod.ts';

/**
 * Two pods of two gateway processes, each with its own Envoy and folder, on one PostgreSQL and one
 * Redis: what is promised of one process holds for all of them together. One Envoy with four is in
 * test/integration/processes/workers.test.ts.
 */
const AT_ONCE = 60;
const LIMIT = 100;
/** Far below what an idle machine does: that there was load at all. */
const LEAST_COMPLETE = 30;
const LOAD_MS = process.env.CI === 'true' ? 20_000 : 6_000;
/**
 * INTERFACE: what a dead process held and did not live to write down is free after `timeouts.total`
 * and a minute.
 */
const TOTAL_S = 20;
const FREE_MS = (TOTAL_S + 60 + 15) * 1_000;

requirement(missingRedis, () => {
  let redis: TestRedis;
  let provider: FakeProvider;
  let pods: GatewayPod[] = [];
  beforeAll(async () => {
    redis = await startTestRedis();
    provider = await startFakeProvider({ record: false });
    const options = {
      postgresSocketDir: inject('postgresSocketDir'),
      config: {
        redis: redis.url,
        workers: 2,
        providers: { fake: { base_url: provider.baseUrl } },
        models: { exact: PLANNED_MODEL },
        timeouts: { first_byte: '20s', stream_idle: '20s', total: `${TOTAL_S}s` },
      },
    };
    const first = await startGatewayPod(options);
    pods = [first];
    pods.push(await startGatewayPod({ ...options, databaseUrl: first.databaseUrl }));
  });
  afterAll(async () => {
    await Promise.all(pods.map((pod) => pod.close()));
    await provider?.close();
    await redis?.stop();
  });
  showLogsOnFailure(() => ({ logs: () => pods.map((pod) => pod.logs()).join('\n') }));

  const firstPod = (): GatewayPod => {
    const [pod] = pods;
    if (pod === undefined) throw new Error('there is no pod');
    return pod;
  };
  /** One for each pod. */
  async function customer(options: CustomerOptions): Promise<{ organizationId: string; clients: GatewayClient[] }> {
    const { organizationId, key } = await firstPod().operator.customer(options);
    return { organizationId, clients: pods.map(({ origin }) => gatewayClient(origin, key)) };
  }

  describe(`${AT_ONCE} at once over four processes`, () => {
    const crowd = { requests: AT_ONCE, served: 10, maxTokens: LIMIT };

    test('against a balance worth 10: 10 are served, and nothing is left', async () => {
      const { organizationId, clients } = await customer({ credit: '0.001' });
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '402 insufficient_credits': 50 });
      // An operator of a pod waits for the charges of that pod alone.
      await Promise.all(pods.map(({ paths }) => untilShipped(paths)));
      expect(await firstPod().operator.balance(organizationId)).toBe(0);
      await firstPod().operator.verifyLedger();
    });

    test("against the organization's daily budget worth 10", async () => {
      const { clients } = await customer({ organization: { limits: { dailyBudgetNanoUsd: 1_000_000n } } });
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 daily_budget_exceeded': 50 });
    });

    test('against 10 slots: the others get retry-after 1', async () => {
      const { clients } = await customer({ organization: { concurrency: 10 } });
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 50 });
      expect(
        new Set(received.filter(({ status }) => status === 429).map(({ headers }) => headers['retry-after'])),
      ).toEqual(new Set(['1']));
    });

    test('against 10 requests a minute', async () => {
      const { clients } = await customer({ key: { limits: { requestsPerMinute: 10 } } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 50 });
    });

    test('against tokens a minute for 10', async () => {
      // A request counts its limit of 1,000 and some tokens of its prompt, fewer than 30.
      const { clients } = await customer({ organization: { limits: { tokensPerMinute: 10_300 } } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(provider, { ...crowd, maxTokens: 1_000, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 tpm_exceeded': 50 });
    });
  });

  test('a process with another Redis on the same database does not serve, and says why', async () => {
    const other = await startTestRedis();
    const folder = mkdtempSync(join(tmpdir(), 'gw-other-'));
    const stranger = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
      cwd: REPOSITORY,
      env: { ...process.env, ...firstPod().env, GATEWAY_DATA: folder, REDIS_URL: other.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      expect(await stranger.exited).toBe(78);
      expect(stranger.output()).toContain('in another Redis than this one');
      // And nobody else notices: it looked at its own Redis for seconds.
      const { clients } = await customer({});
      const received = await Promise.all(clients.map((client) => client.get('/v1/credits')));
      expect(countOutcomes(received)).toEqual({ '200': pods.length });
      provider.script('exact', plannedAnswer);
      const answers = await plannedLoad(clients, performance.now() + 1_000);
      expect(Object.keys(answers.outcomes)).toEqual(['complete']);
    } finally {
      await stranger.end('SIGKILL');
      await other.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test(
    'kill -9 of a process of each pod under load: every complete answer is charged once, and nothing stays held',
    async () => {
      provider.script('exact', plannedAnswer);
      const rich = await customer({ organization: { concurrency: 1_000 } });
      const poor = await customer({ credit: '0.005' });
      const clients = [...rich.clients, ...rich.clients, ...poor.clients];
      const startMs = performance.now();
      const loading = plannedLoad(clients, startMs + LOAD_MS);
      for (const [index, pod] of pods.entries()) {
        await sleep(Math.max(0, startMs + ((index + 1) * LOAD_MS) / 4 - performance.now()));
        await pod.restartWorker(index, 'SIGKILL');
      }
      const killedMs = performance.now();
      const tally = await loading;
      await Promise.all(pods.map((pod) => untilSettled(pod, FREE_MS)));
      for (const { clients: own } of [rich, poor]) {
        for (const client of own) await untilNothingHeld(client, Math.max(1, killedMs + FREE_MS - performance.now()));
      }
      await expectCharged(firstPod().databaseUrl, tally);
      await firstPod().operator.verifyLedger();
      expect(tally.complete.size).toBeGreaterThan(LEAST_COMPLETE);
      expect(tally.outcomes['402']).toBeGreaterThan(0);
      // Requests of the processes that died were cut, or refused before they began, and hold
      // nothing.
      const disturbed = ['cut', 'broken', '503'].reduce((sum, kind) => sum + (tally.outcomes[kind] ?? 0), 0);
      expect(disturbed).toBeGreaterThan(0);
      const after = await Promise.all(rich.clients.map((client) => client.chat({ model: 'exact', max_tokens: 1 })));
      expect(countOutcomes(after)).toEqual({ '200': pods.length });
    },
    LOAD_MS + 2 * FREE_MS,
  );
});
