import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type GatewayClient, gatewayClient } from '../harness/gateway-client.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { requirement } from '../harness/requirement.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import { supervisedChildren } from '../harness/supervised-children.ts';
import { RATE_MODELS, scriptRateModels, startSteadyRate } from '../load/steady-rate.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';

/**
 * Gateway processes are stopped and killed under 200 requests a second. Envoy survives, and refuses
 * in the envelope.
 */
const PER_SECOND = 200;
/** STOPS=50 is the full test. */
const STOPS = Number(process.env.STOPS ?? '3');
const LIMIT_MS = 60_000 + STOPS * 30_000;
const LOAD_MS = 1_000;
/** The last outcome occurs if the machine pauses for ten seconds. */
const ANSWERED = ['200', '503 no_capacity', '408 request_timeout'];
/** Longer than any stream, so a stop cuts no request in flight. */
const DRAIN_TIMEOUT_MS = '10000';

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider({ record: false });
  scriptRateModels(provider);
});
afterAll(() => provider?.close());

interface Scene {
  readonly stack: SupervisedStack;
  readonly client: GatewayClient;
  close(): Promise<void>;
}

async function openScene(redis?: TestRedis): Promise<Scene> {
  const stack = await startSupervisedStack({
    postgresSocketDir: inject('postgresSocketDir'),
    config: {
      ...(redis === undefined ? {} : { redis: redis.url, workers: 2 }),
      providers: { fake: { base_url: provider.baseUrl } },
      models: RATE_MODELS,
    },
    env: { DRAIN_TIMEOUT_MS, LOG_LEVEL: 'warn' },
  });
  const { key } = await stack.operator.customer({ credit: '1000', organization: { concurrency: 5_000 } });
  const client = gatewayClient(stack.origin, key);
  const close = async () => {
    client.close();
    await stack.close();
  };
  return { stack, client, close };
}

const isReady = ({ stack }: Scene) =>
  fetch(`${stack.metricsOrigin}/ready`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Ends gateway processes in turn under load, and returns the outcomes of the requests. */
async function endProcesses(scene: Scene, signal: NodeJS.Signals): Promise<Map<string, number>> {
  const { stack, client } = scene;
  const processes = () => supervisedChildren(stack.supervisorPid, 'ext-proc/main.ts');
  const envoys = () => supervisedChildren(stack.supervisorPid, 'envoy.yaml');
  const before = envoys();
  const load = startSteadyRate(client, PER_SECOND);
  for (let stop = 0; stop < STOPS; stop++) {
    await sleep(LOAD_MS);
    const all = processes();
    const victim = all[stop % all.length] ?? 0;
    process.kill(victim, signal);
    await expect.poll(() => processes().filter((pid) => pid !== victim).length).toBe(all.length);
    await expect.poll(() => isReady(scene)).toBe(true);
  }
  await load.stop();
  expect(envoys()).toEqual(before);
  expect(stack.logs()).not.toContain('Segmentation fault');
  await stack.operator.verifyLedger();
  process.stderr.write(`${STOPS} times ${signal}: ${JSON.stringify([...load.seen])}\n`);
  return load.seen;
}

function playAll(name: string, open: () => Promise<Scene>): void {
  describe(name, () => {
    test('during a stop new requests are served by another process or refused in the envelope', {
      timeout: LIMIT_MS,
    }, async () => {
      const scene = await open();
      try {
        const seen = await endProcesses(scene, 'SIGTERM');
        for (const ending of seen.keys()) expect(ANSWERED).toContain(ending);
        expect(seen.get('200')).toBeGreaterThan(STOPS * 20);
      } finally {
        await scene.close();
      }
    });

    test('after a kill only the streams of that process are cut, and other requests are refused in the envelope', {
      timeout: LIMIT_MS,
    }, async () => {
      const scene = await open();
      try {
        const seen = await endProcesses(scene, 'SIGKILL');
        for (const ending of seen.keys()) expect([...ANSWERED, '500 internal_error', 'cut']).toContain(ending);
        expect(seen.get('200')).toBeGreaterThan(STOPS * 20);
      } finally {
        await scene.close();
      }
    });
  });
}

playAll('one gateway process', () => openScene());

requirement(missingRedis, () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startTestRedis();
  });
  afterAll(() => redis?.stop());
  playAll('one of two gateway processes', () => openScene(redis));

  test.each([1, 2])(
    'Envoy exits cleanly when everything is stopped (%i gateway processes)',
    { timeout: LIMIT_MS },
    async (workers) => {
      const total = new Map<string, number>();
      for (let stop = 0; stop < STOPS; stop++) {
        const { stack, client, close } = await openScene(workers === 1 ? undefined : redis);
        const load = startSteadyRate(client, PER_SECOND);
        await sleep(LOAD_MS);
        await stack.end();
        await load.stop();
        expect(stack.logs()).not.toContain('Segmentation fault');
        for (const [ending, times] of load.seen) total.set(ending, (total.get(ending) ?? 0) + times);
        await stack.operator.verifyLedger();
        await close();
      }
      process.stderr.write(`${STOPS} whole stops, ${workers} processes: ${JSON.stringify([...total])}\n`);
      // The kernel refuses connections after the listener has closed, and resets those at that
      // moment.
      for (const ending of total.keys()) expect([...ANSWERED, 'ECONNREFUSED', 'ECONNRESET']).toContain(ending);
      // Connections that were waiting to be accepted at that moment.
      expect(total.get('ECONNRESET') ?? 0).toBeLessThanOrEqual((STOPS * PER_SECOND) / 10);
    },
  );
});
