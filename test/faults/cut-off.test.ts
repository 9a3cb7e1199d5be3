import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import {
  eventsOf,
  type GatewayClient,
  gatewayClient,
  jsonOf,
  outcome,
  untilNothingHeld,
} from '../harness/gateway-client.ts';
import type { CustomerOptions } from '../harness/operator.ts';
import { missingRedis, startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { type Relay, startRelay } from '../harness/relay.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { streamAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { createGate, type Gate } from '../provider/gate.ts';
import { type GatewayPod, startGatewayPod } from './gateway-pod.ts';

/**
 * Two gateway processes share PostgreSQL and Redis. The first is cut off from them for longer than
 * its leases while it streams. The possible cost of its streams must stay unavailable to requests
 * at the second process.
 */
const LIMIT = 100;
const USD_OF_ONE = 0.0001;
const CUT_MS = 20_000;
const MANY = 150;

requirement(missingRedis, () => {
  let redis: TestRedis;
  let provider: FakeProvider;
  let folder: string;
  let toRedis: Relay;
  let toPostgres: Relay;
  let pods: readonly [GatewayPod, GatewayPod];
  const closing: (() => Promise<unknown> | unknown)[] = [];
  beforeAll(async () => {
    redis = await startTestRedis();
    provider = await startFakeProvider({ record: false });
    folder = mkdtempSync(join(tmpdir(), 'gw-cut-'));
    closing.push(
      () => rmSync(folder, { recursive: true }),
      () => redis.stop(),
      () => provider.close(),
    );
    const postgresSocketDir = inject('postgresSocketDir');
    const [port = 0] = await freePorts(1);
    toRedis = await startRelay(() => ({ port: redis.port }), { from: { port } });
    const socket = '.s.PGSQL.5432';
    toPostgres = await startRelay(() => ({ path: join(postgresSocketDir, socket) }), {
      from: { path: join(folder, socket) },
    });
    closing.push(toRedis.close, toPostgres.close);
    const config = {
      redis: redis.url,
      providers: { fake: { base_url: provider.baseUrl } },
      models: { exact: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: { first_byte: '100s', stream_idle: '100s', total: '120s' },
    };
    const second = await startGatewayPod({ postgresSocketDir, config });
    closing.push(second.close);
    const databaseUrl = second.databaseUrl.replace(encodeURIComponent(postgresSocketDir), encodeURIComponent(folder));
    const first = await startGatewayPod({
      postgresSocketDir,
      config: { ...config, redis: `redis://127.0.0.1:${port}` },
      databaseUrl,
    });
    closing.push(first.close);
    pods = [first, second];
  });
  afterEach(() => {
    toRedis.mend();
    toPostgres.mend();
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });
  showLogsOnFailure(() => ({ logs: () => pods.map((pod) => pod.logs()).join('\n') }));

  async function customer(options: CustomerOptions) {
    const { organizationId, key } = await pods[1].operator.customer(options);
    const [first, second] = pods.map(({ origin }) => gatewayClient(origin, key)) as [GatewayClient, GatewayClient];
    return { organizationId, first, second };
  }

  /** Starts streams that pause in the middle until the gate opens. Each costs exactly its hold. */
  function beginStreams(clients: readonly GatewayClient[]) {
    const gate = createGate();
    provider.script(
      'exact',
      streamAnswer({ usage: USAGE, onEvent: (index) => (index === 2 ? gate.pass() : undefined) }),
    );
    const answers = clients.map((client) => client.chat({ model: 'exact', max_tokens: LIMIT, stream: true }));
    return { gate, answers };
  }

  async function ended(gate: Gate, answers: readonly Promise<Awaited<ReturnType<GatewayClient['chat']>>>[]) {
    gate.open();
    for (const answer of await Promise.all(answers)) {
      expect(answer.text).toContain('"finish_reason":"stop"');
      expect(eventsOf(answer).at(-1)).toBe('[DONE]');
    }
  }

  async function expectNothingLost(organizationId: string, client: GatewayClient, charges: number): Promise<void> {
    await untilSettled(pods[0], 60_000);
    await untilNothingHeld(client, 60_000);
    expect(await pods[1].operator.balance(organizationId)).toBe(0);
    await pods[1].operator.verifyLedger();
    const where = `organization_id = '${organizationId}'`;
    expect(await sql(pods[1].databaseUrl, `select reason from losses where ${where}`)).toEqual([]);
    const charged = await sql<{ count: number }>(
      pods[1].databaseUrl,
      `select count(*)::int as count from generations where ${where}`,
    );
    expect(charged).toEqual([{ count: charges }]);
  }

  test('a stream completes while both stores are cut off for longer than a lease, and its money is held throughout', async () => {
    const { organizationId, first, second } = await customer({ credit: String(USD_OF_ONE) });
    const { gate, answers } = beginStreams([first]);
    await gate.waitFor(1);
    toRedis.cut();
    toPostgres.cut();
    const cutMs = performance.now();
    await ended(gate, answers);
    for (const askedMs of [1_000, CUT_MS]) {
      await sleep(Math.max(0, cutMs + askedMs - performance.now()));
      expect(outcome(await second.chat({ model: 'exact', max_tokens: LIMIT }))).toBe('402 insufficient_credits');
    }
    expect(jsonOf<{ data: { held: number } }>(await second.get('/v1/credits')).data.held).toBe(USD_OF_ONE);
    toRedis.mend();
    toPostgres.mend();
    await expectNothingLost(organizationId, second, 1);
  });

  test(`${MANY} streams complete while Redis is cut off for longer than a lease, and their money stays held`, async () => {
    const { organizationId, first, second } = await customer({
      credit: (MANY * USD_OF_ONE).toFixed(4),
      organization: { concurrency: MANY },
    });
    const { gate, answers } = beginStreams(Array.from({ length: MANY }, () => first));
    await gate.waitFor(MANY);
    toRedis.cut();
    await sleep(CUT_MS);
    // Their slots are free, but their money is still held.
    expect(outcome(await second.chat({ model: 'exact', max_tokens: LIMIT }))).toBe('402 insufficient_credits');
    await ended(gate, answers);
    expect(outcome(await second.chat({ model: 'exact', max_tokens: 1 }))).toBe('402 insufficient_credits');
    toRedis.mend();
    await expectNothingLost(organizationId, second, MANY);
  });

  test('streams of all organizations complete when the Redis keys of one were overwritten', async () => {
    const [broken, well] = await Promise.all([customer({ credit: '1' }), customer({ credit: '1' })]);
    const { gate, answers } = beginStreams([broken.second, well.second]);
    await gate.waitFor(2);
    const [name = ''] = await redis.admin.keys(`*:holds:${broken.organizationId}`);
    await redis.admin.set(name, 'a text');
    await sleep(CUT_MS);
    await ended(gate, answers);
    expect((await well.second.chat({ model: 'exact', max_tokens: LIMIT, stream: true })).status).toBe(200);
    await expect.poll(() => pods[1].logs()).toContain('WRONGTYPE');
    await untilNothingHeld(well.second);
  });
});

const USAGE = { prompt_tokens: 1, completion_tokens: LIMIT, total_tokens: LIMIT + 1 };
