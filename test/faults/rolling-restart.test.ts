import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, MESSAGES, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { startSupervisedStack } from '../harness/stack.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { startSteadyTraffic, type TrafficJob, type TrafficReport } from '../load/steady-traffic.ts';
import { jsonAnswer, slowly, streamAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { type GatewayPod, startGatewayPod } from './gateway-pod.ts';

/**
 * All serving processes are restarted in turn. No client gets a refusal, a cut response or a
 * refused connection.
 */
const ROUNDS = process.env.CI === 'true' ? 2 : 1;
/** A stream of half a second. */
const PIECES = Array.from({ length: 20 }, (_, index) => ` word${index}`);
const PACE_MS = 25;
/** Connections are replaced now and then. */
const REQUESTS_PER_CONNECTION = 7;
const STEP_MS = 40_000;
/** Enough clients for each thread of Envoy to have some. */
const CLIENTS = 16;

requirement(missingRedis, () => {
  let redis: TestRedis;
  let provider: FakeProvider;
  beforeAll(async () => {
    redis = await startTestRedis();
    provider = await startFakeProvider({ record: false });
    provider.script('json', slowly(30, jsonAnswer()));
    provider.script('stream', streamAnswer({ pieces: PIECES, paceMs: PACE_MS }));
  });
  afterAll(async () => {
    await provider?.close();
    await redis?.stop();
  });

  const config = (): TestConfig => ({
    redis: redis.url,
    workers: 2,
    providers: { fake: { base_url: provider.baseUrl } },
    models: { json: {}, stream: {} },
  });

  describe('two pods of two gateway processes behind a balancer', () => {
    let pods: GatewayPod[] = [];
    let balancer: Balancer;
    beforeAll(async () => {
      const options = { postgresSocketDir: inject('postgresSocketDir'), config: config() };
      const first = await startGatewayPod(options);
      pods = [first];
      pods.push(await startGatewayPod({ ...options, databaseUrl: first.databaseUrl }));
      balancer = await startBalancer(pods);
    });
    afterAll(async () => {
      await balancer?.close();
      await Promise.all(pods.map((pod) => pod.close()));
    });
    showLogsOnFailure(() => ({ logs: () => pods.map((pod) => pod.logs()).join('\n') }));

    const allReady = () => expect.poll(() => balancer.readiness(), { timeout: STEP_MS }).toEqual([true, true]);

    test('every gateway process and every Envoy is restarted', { timeout: ROUNDS * 6 * STEP_MS }, async () => {
      const [first] = pods;
      if (first === undefined) throw new Error('there is no pod');
      const { key } = await first.operator.customer({ organization: { concurrency: 1_000 } });
      const traffic = startTraffic(balancer.origin, key);
      for (let round = 0; round < ROUNDS; round++) {
        for (const pod of pods) {
          for (const restart of [() => pod.restartWorker(1), () => pod.restartWorker(0), pod.restartEnvoy]) {
            await allReady();
            const before = traffic.good();
            await restart();
            // Traffic continued during the restart.
            expect(traffic.good() - before).toBeGreaterThan(0);
          }
        }
      }
      await allReady();
      const report = await traffic.stop();
      expectUnnoticed(report);
      await first.operator.verifyLedger();
    });
  });

  describe('two gateway processes under the supervisor', () => {
    let stack: Awaited<ReturnType<typeof startSupervisedStack>>;
    beforeAll(async () => {
      const env = { DRAIN_TIMEOUT_MS: '20000' };
      stack = await startSupervisedStack({ postgresSocketDir: inject('postgresSocketDir'), config: config(), env });
    });
    afterAll(() => stack?.close());
    showLogsOnFailure(() => stack);

    const listening = (): number => stack.logs().split('the gateway process listens').length - 1;
    const draining = (): number => stack.logs().split('"draining"').length - 1;

    test('each process is stopped and restarted without an effect on clients', {
      timeout: ROUNDS * 2 * STEP_MS,
    }, async () => {
      const { key } = await stack.operator.customer({ organization: { concurrency: 1_000 } });
      const traffic = startTraffic(stack.origin, key);
      for (let round = 0; round < ROUNDS; round++) {
        for (const pid of supervisedChildren(stack.supervisorPid, 'ext-proc/main.ts')) {
          const before = listening();
          process.kill(pid, 'SIGTERM');
          await expect.poll(listening, { timeout: STEP_MS }).toBe(before + 1);
        }
      }
      const report = await traffic.stop();
      expectUnnoticed(report);
      const client = gatewayClient(stack.origin, key);
      await untilNothingHeld(client);
      client.close();
      await stack.operator.verifyLedger();
    });

    test('a request that Envoy sends to a stopping process is served by the other', async () => {
      const { key } = await stack.operator.customer({ organization: { concurrency: 1_000 } });
      const clients = Array.from({ length: CLIENTS }, () => gatewayClient(stack.origin, key));
      const ask = () => Promise.all(clients.map((client) => client.chat({ model: 'json' }).then(outcome)));
      const served = new Set(['200']);
      // Opens connections to Envoy, and from Envoy to the processes.
      expect(new Set(await ask())).toEqual(served);
      const [ends = 0] = supervisedChildren(stack.supervisorPid, 'ext-proc/main.ts');
      const [envoy = 0] = supervisedChildren(stack.supervisorPid, 'envoy.yaml');
      const before = draining();
      process.kill(envoy, 'SIGSTOP');
      try {
        const given = ask();
        // The requests must be in Envoy's sockets before the process announces its stop there.
        await sleep(100);
        process.kill(ends, 'SIGTERM');
        await expect.poll(draining).toBe(before + 1);
        await sleep(50);
        process.kill(envoy, 'SIGCONT');
        expect(new Set(await given)).toEqual(served);
      } finally {
        process.kill(envoy, 'SIGCONT');
      }
      for (const client of clients) client.close();
    });
  });
});

function startTraffic(origin: string, key: string) {
  const job = (model: string, stream: boolean): TrafficJob => ({
    origin,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: MESSAGES, max_tokens: 100 }),
    mustContain: stream ? 'data: [DONE]' : '"finish_reason":"stop"',
    concurrency: 8,
  });
  return startSteadyTraffic([job('json', false), job('stream', true)], {
    requestsPerConnection: REQUESTS_PER_CONNECTION,
  });
}

function expectUnnoticed({ good, faults }: TrafficReport): void {
  expect(faults).toEqual({});
  expect(good).toBeGreaterThan(100);
}
