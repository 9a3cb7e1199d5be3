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
import { untilMinuteIsYoung } from '../harness/young-window.ts';
import { startProcess } from '../launchers/child-process.ts';
import { allAtOnce, countOutcomes } from '../load/all-at-once.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { type GatewayPod, startGatewayPod } from './gateway-pod.ts';

/**
 * Two pods of two gateway processes, each pod with its own Envoy and folder, share PostgreSQL and
 * Redis. All promises about one process hold for the four together.
 * test/integration/processes/workers.test.ts tests four processes behind one Envoy.
 */
const AT_ONCE = 60;
const LIMIT = 100;
/** Far below what an idle machine completes. It only proves that there was load. */
const LEAST_COMPLETE = 30;
const LOAD_MS = process.env.CI === 'true' ? 20_000 : 6_000;
/**
 * The holds of a dead process are free after `timeouts.total` plus a minute (docs/interface.md).
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
  /** A customer with one client for each pod. */
  async function customer(options: CustomerOptions): Promise<{ organizationId: string; clients: GatewayClient[] }> {
    const { organizationId, key } = await firstPod().operator.customer(options);
    return { organizationId, clients: pods.map(({ origin }) => gatewayClient(origin, key)) };
  }

  describe(`${AT_ONCE} at once over four processes`, () => {
    const crowd = { requests: AT_ONCE, served: 10, maxTokens: LIMIT };

    test('against a balance for 10: 10 are served, and the balance is used up', async () => {
      const { organizationId, clients } = await customer({ credit: '0.001' });
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '402 insufficient_credits': 50 });
      // The operator of a pod waits only for the charges of that pod.
      await Promise.all(pods.map(({ paths }) => untilShipped(paths)));
      expect(await firstPod().operator.balance(organizationId)).toBe(0);
      await firstPod().operator.verifyLedger();
    });

    test("against the organization's daily budget for 10", async () => {
      const { clients } = await customer({ organization: { dailyBudgetNanoUsd: 1_000_000n } });
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
      const { clients } = await customer({ key: { requestsPerMinute: 10 } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 50 });
    });

    test('against tokens a minute for 10', async () => {
      // A request counts its output limit of 1,000 and fewer than 30 prompt tokens.
      const { clients } = await customer({ organization: { tokensPerMinute: 10_300 } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(provider, { ...crowd, maxTokens: 1_000, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 tpm_exceeded': 50 });
    });
  });

  test('a process with another Redis on the same database refuses requests and reports why', async () => {
    const other = await startTestRedis();
    const folder = mkdtempSync(join(tmpdir(), 'gw-other-'));
    const stranger = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
      cwd: REPOSITORY,
      env: { ...process.env, ...firstPod().env, GATEWAY_DATA: folder, REDIS_URL: other.url, WORKER_INDEX: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      expect(await stranger.exited).toBe(78);
      expect(stranger.output()).toContain('in another Redis than this one');
      // The pods are not affected, although it has used its own Redis for seconds.
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
    'kill -9 of a process of each pod under load: every complete response is charged once, and nothing stays held',
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
      // Requests of the killed processes were cut, or refused before admission, and hold nothing.
      const disturbed = ['cut', 'broken', '503'].reduce((sum, kind) => sum + (tally.outcomes[kind] ?? 0), 0);
      expect(disturbed).toBeGreaterThan(0);
      const after = await Promise.all(rich.clients.map((client) => client.chat({ model: 'exact', max_tokens: 1 })));
      expect(countOutcomes(after)).toEqual({ '200': pods.length });
    },
    LOAD_MS + 2 * FREE_MS,
  );
});
