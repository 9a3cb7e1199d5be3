import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { Administration } from '../harness/administration.ts';
import { sql } from '../harness/database.ts';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { metric } from '../harness/metrics-page.ts';
import { BY, type Customer } from '../harness/operator.ts';
import { missingRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { type GatewayPod, withTwoPods } from './gateway-pod.ts';

/** Concurrent clients of each pod. */
const AT_ONCE = 2;
const ROUNDS = process.env.CI === 'true' ? 12 : 3;
/** From shorter than a proof is valid to longer than a listening connection may stay silent. */
const FROZEN_MS = [100, 600, 3_000];
const ANSWERED_WITHIN_MS = 1_000;
const STEADY = 50;

interface Request {
  readonly beganMs: number;
  readonly outcome: string;
}

type Ask = (client: GatewayClient) => Promise<Received>;
const complete: Ask = (client) => client.chat({ model: 'm' });
const listModels: Ask = (client) => client.get('/v1/models');

/** Each client sends requests in sequence until `stop`. */
function keepAsking(clients: readonly GatewayClient[], ask = complete) {
  const requests: Request[] = [];
  let isBusy = true;
  const running = clients.flatMap((client) =>
    Array.from({ length: AT_ONCE }, async () => {
      while (isBusy) {
        const beganMs = performance.now();
        requests.push({ beganMs, outcome: outcome(await ask(client)) });
      }
    }),
  );
  return {
    requests,
    /** Waits for a request that began after `afterMs` and had this outcome. */
    seen: (wanted: string, afterMs = 0) =>
      expect.poll(() => requests.some((one) => one.beganMs > afterMs && one.outcome === wanted)).toBe(true),
    stop: async () => {
      isBusy = false;
      await Promise.all(running);
    },
  };
}

requirement(missingRedis, () => {
  const two = withTwoPods({ config: { models: { m: {} } }, provider: { record: false }, hasRelay: true });

  const signal = (pod: GatewayPod, name: NodeJS.Signals) => {
    for (const pid of pod.workerPids()) process.kill(pid, name);
  };

  test.each<[string, string, (administration: Administration, customer: Customer) => Promise<unknown>]>([
    ['revocation', '401 key_revoked', (to, { keyId }) => to.revokeKey(keyId, BY)],
    ['suspension', '403 org_suspended', (to, { organizationId }) => to.setSuspended(organizationId, true, BY)],
    [
      'a correction of the balance',
      '402 insufficient_credits',
      (to, { organizationId }) => to.credit(organizationId, { amountNanoUsd: -200_000_000_000n }, BY),
    ],
    [
      'another scope',
      '403 missing_scope',
      (to, { organizationId, keyId }) => to.updateKey(organizationId, keyId, { scopes: ['usage:read'] }, BY),
    ],
  ])(
    'a request that starts after %s has returned is never served, while one process is suspended',
    async (_name, refusal, change) => {
      const [pod, frozen] = two.pods;
      const play = async (frozenMs: number): Promise<number> => {
        const customer = await pod.operator.customer();
        const clients = two.pods.map(({ origin }) => gatewayClient(origin, customer.key));
        const load = keepAsking(clients);
        await load.seen('200');
        signal(frozen, 'SIGSTOP');
        const woken = sleep(frozenMs).then(() => signal(frozen, 'SIGCONT'));
        const beganMs = performance.now();
        await change(pod.operator.administration, customer);
        const answeredMs = performance.now();
        await woken;
        await load.seen(refusal, answeredMs);
        await sleep(200);
        await load.stop();
        for (const client of clients) client.close();
        const after = load.requests.filter((one) => one.beganMs > answeredMs).map((one) => one.outcome);
        expect(after).not.toContain('200');
        return answeredMs - beganMs;
      };
      for (let round = 0; round < ROUNDS; round++) {
        const frozenMs = FROZEN_MS[round % FROZEN_MS.length] ?? 0;
        // Other load on the machine slows some commands, so a slow round is repeated.
        const untilMs = performance.now() + PATIENCE_MS / ROUNDS;
        let tookMs = await play(frozenMs);
        while (tookMs >= ANSWERED_WITHIN_MS && performance.now() < untilMs) tookMs = await play(frozenMs);
        expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
      }
    },
  );

  test('a revoked key is not served by a process that cannot be notified of the revocation', async () => {
    const [pod] = two.pods;
    const customer = await pod.operator.customer();
    const clients = two.pods.map(({ origin }) => gatewayClient(origin, customer.key));
    // Lists of models cost nothing, so each response is immediate while its caller is in memory.
    const load = keepAsking(clients, listModels);
    await load.seen('200');
    two.way.cut();
    await pod.operator.administration.revokeKey(customer.keyId, BY);
    const answeredMs = performance.now();
    await load.seen('401 key_revoked', answeredMs);
    await sleep(700);
    two.way.mend();
    await load.stop();
    for (const client of clients) client.close();
    const after = load.requests.filter((one) => one.beganMs > answeredMs).map((one) => one.outcome);
    expect(after).not.toContain('200');
  });

  test('a change by SQL applies within a second on every process', async () => {
    const customer = await two.pods[0].operator.customer();
    const clients = two.pods.map(({ origin }) => gatewayClient(origin, customer.key));
    const load = keepAsking(clients);
    await load.seen('200');
    await sql(two.pods[0].databaseUrl, `update keys set revoked_at = now() where id = '${customer.keyId}'`);
    const changedMs = performance.now();
    await sleep(1_500);
    await load.stop();
    for (const client of clients) client.close();
    const served = load.requests.filter((one) => one.outcome === '200');
    expect(Math.max(...served.map((one) => one.beganMs))).toBeLessThan(changedMs + 1_000);
  });

  test('steady requests find their callers in memory', async () => {
    const { key } = await two.pods[0].operator.customer();
    for (const { origin, metricsOrigin } of two.pods) {
      const client = gatewayClient(origin, key);
      const found = (from: string) => metric(metricsOrigin, 'gateway_callers_total', { from });
      // On a busy machine requests may be too far apart, so they are counted again.
      const moreInMemory = async (): Promise<number> => {
        const before = [await found('memory'), await found('database')];
        for (let sent = 0; sent < STEADY; sent++) expect(outcome(await client.get('/v1/models'))).toBe('200');
        const [memory = 0, database = 0] = before;
        return (await found('memory')) - memory - ((await found('database')) - database);
      };
      await expect.poll(moreInMemory).toBeGreaterThan(0);
      client.close();
    }
  });
});
