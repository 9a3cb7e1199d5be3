import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../harness/deployment.ts';
import { type GatewayClient, gatewayClient, untilNothingHeld } from '../harness/gateway-client.ts';
import type { CustomerOptions } from '../harness/operator.ts';
import { missingRedis, startTestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { untilShipped } from '../harness/shipped.ts';
import { untilMinuteIsYoung } from '../harness/young-window.ts';
import { startProcess } from '../launchers/child-process.ts';
import { allAtOnce, countOutcomes } from '../load/all-at-once.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { withTwoPods } from './gateway-pod.ts';

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
  const two = withTwoPods({
    config: {
      workers: 2,
      models: { exact: PLANNED_MODEL },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: `${TOTAL_S}s` },
    },
    provider: { record: false },
  });

  /** A customer with one client for each pod. */
  async function customer(options: CustomerOptions): Promise<{ organizationId: string; clients: GatewayClient[] }> {
    const { organizationId, key } = await two.pods[0].operator.customer(options);
    return { organizationId, clients: two.pods.map(({ origin }) => gatewayClient(origin, key)) };
  }

  describe(`${AT_ONCE} at once over four processes`, () => {
    const crowd = { requests: AT_ONCE, served: 10, maxTokens: LIMIT };

    test('against a balance for 10: 10 are served, and the balance is used up', async () => {
      const { organizationId, clients } = await customer({ credit: '0.001' });
      const received = await allAtOnce(two.provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '402 insufficient_credits': 50 });
      // The operator of a pod waits only for the charges of that pod.
      await Promise.all(two.pods.map(({ paths }) => untilShipped(paths)));
      expect(await two.pods[0].operator.balance(organizationId)).toBe(0);
      await two.pods[0].operator.verifyLedger();
    });

    test("against the organization's daily budget for 10", async () => {
      const { clients } = await customer({ organization: { dailyBudgetNanoUsd: 1_000_000n } });
      const received = await allAtOnce(two.provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 daily_budget_exceeded': 50 });
    });

    test('against 10 slots: the others get retry-after 1', async () => {
      const { clients } = await customer({ organization: { concurrency: 10 } });
      const received = await allAtOnce(two.provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 50 });
      expect(
        new Set(received.filter(({ status }) => status === 429).map(({ headers }) => headers['retry-after'])),
      ).toEqual(new Set(['1']));
    });

    test('against 10 requests a minute', async () => {
      const { clients } = await customer({ key: { requestsPerMinute: 10 } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(two.provider, { ...crowd, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 rpm_exceeded': 50 });
    });

    test('against tokens a minute for 10', async () => {
      // A request counts its output limit of 1,000 and fewer than 30 prompt tokens.
      const { clients } = await customer({ organization: { tokensPerMinute: 10_300 } });
      await untilMinuteIsYoung();
      const received = await allAtOnce(two.provider, { ...crowd, maxTokens: 1_000, clients });
      expect(countOutcomes(received)).toEqual({ '200': 10, '429 tpm_exceeded': 50 });
    });
  });

  test('a process with another Redis on the same database refuses requests and reports why', async () => {
    const other = await startTestRedis();
    const folder = mkdtempSync(join(tmpdir(), 'gw-other-'));
    const stranger = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
      cwd: REPOSITORY,
      env: { ...process.env, ...two.pods[0].env, GATEWAY_DATA: folder, REDIS_URL: other.url, WORKER_INDEX: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      expect(await stranger.exited).toBe(78);
      expect(stranger.output()).toContain('in another Redis than this one');
      // The pods are not affected, although it has used its own Redis for seconds.
      const { clients } = await customer({});
      const received = await Promise.all(clients.map((client) => client.get('/v1/credits')));
      expect(countOutcomes(received)).toEqual({ '200': two.pods.length });
      two.provider.script('exact', plannedAnswer);
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
      two.provider.script('exact', plannedAnswer);
      const rich = await customer({ organization: { concurrency: 1_000 } });
      const poor = await customer({ credit: '0.005' });
      const clients = [...rich.clients, ...rich.clients, ...poor.clients];
      const startMs = performance.now();
      const loading = plannedLoad(clients, startMs + LOAD_MS);
      for (const [index, pod] of two.pods.entries()) {
        await sleep(Math.max(0, startMs + ((index + 1) * LOAD_MS) / 4 - performance.now()));
        await pod.restartWorker(index, 'SIGKILL');
      }
      const killedMs = performance.now();
      const tally = await loading;
      await Promise.all(two.pods.map((pod) => untilSettled(pod, FREE_MS)));
      for (const { clients: own } of [rich, poor]) {
        for (const client of own) await untilNothingHeld(client, Math.max(1, killedMs + FREE_MS - performance.now()));
      }
      await expectCharged(two.pods[0].databaseUrl, tally);
      await two.pods[0].operator.verifyLedger();
      expect(tally.complete.size).toBeGreaterThan(LEAST_COMPLETE);
      expect(tally.outcomes['402']).toBeGreaterThan(0);
      // Requests of the killed processes were cut, or refused before admission, and hold nothing.
      const disturbed = ['cut', 'broken', '503'].reduce((sum, kind) => sum + (tally.outcomes[kind] ?? 0), 0);
      expect(disturbed).toBeGreaterThan(0);
      const after = await Promise.all(rich.clients.map((client) => client.chat({ model: 'exact', max_tokens: 1 })));
      expect(countOutcomes(after)).toEqual({ '200': two.pods.length });
    },
    LOAD_MS + 2 * FREE_MS,
  );
});
