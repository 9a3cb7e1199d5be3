import { linkSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { RESERVED_BYTES } from '#ext-proc/billing/charge-log/log-room.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#supervisor/postgres/embedded-postgres.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { balanceOf, eventsOf, type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Customer } from '../harness/operator.ts';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import { requirement } from '../harness/requirement.ts';
import { untilSettled } from '../harness/serving.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { expectCharged, PLANNED_MODEL, plannedAnswer, plannedLoad } from '../load/planned-answers.ts';
import { jsonAnswer, streamAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { createGate } from '../provider/gate.ts';
import { missingSmallDisk, mountSmallDisk, type SmallDisk } from './small-disk.ts';

const MIB = 1024 * 1024;
const USAGE = { prompt_tokens: 1000, completion_tokens: 500 };
const COST = 0.0015;
const BACK_WITHIN_MS = 20_000;
const TIMEOUTS = { first_byte: '40s', stream_idle: '40s', total: '50s' };

requirement(missingSmallDisk(), () => {
  let provider: FakeProvider;
  let stack: Stack;
  let customer: Customer;
  let client: GatewayClient;

  showLogsOnFailure(() => stack);

  async function untilServed(): Promise<void> {
    await expect
      .poll(async () => outcome(await client.chat({ model: 'probe' })), { timeout: BACK_WITHIN_MS })
      .toBe('200');
  }

  /** Starts two JSON requests and two streams, whose responses the provider holds back. */
  async function startFour() {
    const gate = createGate();
    const act = (stream: boolean) => (stream ? streamAnswer({ usage: USAGE }) : jsonAnswer({ usage: USAGE }));
    provider.script(
      'held',
      gate.before((call) => act(call.seen.stream)(call)),
    );
    const four = [false, true, false, true].map((stream) => client.chat({ model: 'held', stream }));
    await gate.waitFor(4);
    return { answers: Promise.all(four), release: gate.open };
  }

  async function metric(name: string): Promise<number> {
    const page = await (await fetch(`${stack.metricsOrigin}/metrics`)).text();
    return Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec(page)?.[1]);
  }

  beforeAll(async () => {
    provider = await startFakeProvider();
  });
  afterAll(() => provider?.close());

  /** The disk has the charge log, the sockets and Envoy's files. PostgreSQL is on another. */
  test('the disk of the data folder', { timeout: 120_000 }, async () => {
    const disk = mountSmallDisk(RESERVED_BYTES + 32 * MIB);
    const postgres = await startTestPostgres({ fsync: 'off' });
    try {
      stack = await startStack({
        folder: disk.folder,
        postgresSocketDir: postgres.socketDir,
        config: {
          providers: { fake: { base_url: provider.baseUrl } },
          models: { probe: { usd_per_million_tokens: { input: 0, output: 0 } }, held: {} },
          timeouts: TIMEOUTS,
        },
      });
      const { pid } = stack.gateway;
      customer = await stack.operator.customer();
      client = gatewayClient(stack.origin, customer.key);

      await refusesBeforeThereIsNoRoom(disk);
      await losesNothingButAnswers(disk, postgres);
      await keepsTheConfiguration(disk);

      expect([stack.gateway.pid, stack.gateway.hasEnded()]).toEqual([pid, false]);
      await stack.operator.verifyLedger();
    } finally {
      client?.close();
      if (postgres.isDown()) await postgres.restart();
      await stack?.close();
      await postgres.stop();
      disk.remove();
    }
  });

  async function refusesBeforeThereIsNoRoom(disk: SmallDisk): Promise<void> {
    const inFlight = await startFour();
    disk.fill(RESERVED_BYTES / 2);
    await expect.poll(async () => outcome(await client.chat({ model: 'probe' }))).toBe('503 no_capacity');
    const asked = provider.requests('probe').length;
    for (const stream of [false, true, false]) {
      const refused = await client.chat({ model: 'probe', stream });
      expect([outcome(refused), refused.headers['retry-after']]).toEqual(['503 no_capacity', '10']);
    }
    expect(provider.requests('probe')).toHaveLength(asked);
    expect((await client.get('/v1/credits')).status).toBe(200);
    await expect.poll(async () => (await fetch(`${stack.metricsOrigin}/ready`)).text()).toContain('free for charges');
    inFlight.release();
    expect((await inFlight.answers).map(outcome)).toEqual(['200', '200', '200', '200']);
    expect(await stack.operator.balance(customer.organizationId)).toBe(100 - 4 * COST);
    disk.empty();
    await untilServed();
  }

  async function losesNothingButAnswers(disk: SmallDisk, postgres: TestPostgres): Promise<void> {
    const inFlight = await startFour();
    disk.fill(0);
    await postgres.crash();
    inFlight.release();
    const [json, stream, otherJson, otherStream] = await inFlight.answers;
    // The last block of the log may still have room for some charges.
    let lost = 0;
    for (const answer of [json, otherJson]) {
      if (answer && outcome(answer) === '200') continue;
      lost += 1;
      expect(answer && outcome(answer)).toBe('503 no_capacity');
    }
    for (const answer of [stream, otherStream]) {
      const events = answer ? eventsOf(answer) : [];
      expect(events.at(-1)).toBe('[DONE]');
      if (!events.at(-2)?.includes('"error"')) continue;
      lost += 1;
      expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { code: 'no_capacity' } });
    }
    expect(lost).toBeGreaterThan(0);
    expect(await metric('gateway_charges_lost_total')).toBe(lost);
    await postgres.restart();
    // Without space for the log completions stay refused, although PostgreSQL is back.
    await expect.poll(async () => (await client.get('/v1/credits')).status, { timeout: BACK_WITHIN_MS }).toBe(200);
    expect(outcome(await client.chat({ model: 'probe' }))).toBe('503 no_capacity');
    disk.empty();
    await untilServed();
    const charged = 4 + (4 - lost);
    expect(await balanceOf(client)).toBeCloseTo(100 - charged * COST, 9);
  }

  async function keepsTheConfiguration(disk: SmallDisk): Promise<void> {
    const path = stack.env.GATEWAY_CONFIG ?? '';
    const next = JSON.parse(readFileSync(path, 'utf8'));
    next.providers.another = { base_url: 'http://127.0.0.1:9/v1' };
    next.models.another = { ...next.models.probe, targets: [{ provider: 'another', model: 'another' }] };
    writeFileSync(`${path}.next`, JSON.stringify(next));
    // A second link keeps the old file, so that replacing it frees no space.
    linkSync(path, `${path}.before`);
    disk.fill(0);
    renameSync(`${path}.next`, path);
    await expect.poll(() => stack.logs()).toContain('cannot be written');
    expect(await models()).toEqual(['held', 'probe']);
    disk.empty();
    await untilServed();
    // The gateway reloads by itself when there is space.
    await expect.poll(models, { timeout: 30_000 }).toEqual(['another', 'held', 'probe']);
  }

  async function models(): Promise<readonly string[]> {
    const { data } = JSON.parse((await client.get('/v1/models')).text) as { data: { id: string }[] };
    return data.map(({ id }) => id).sort();
  }

  /** As under `npm start`, whose supervisor restarts the database when it ends. */
  test('the disk of PostgreSQL, under load', { timeout: 120_000 }, async () => {
    const disk = mountSmallDisk(224 * MIB);
    const paths = runtimePaths({ GATEWAY_DATA: disk.folder });
    const start = () => startEmbeddedPostgres(paths, { settings: { min_wal_size: '32MB', max_wal_size: '64MB' } });
    let server: EmbeddedPostgres = await start();
    let ending = false;
    try {
      stack = await startStack({
        postgresSocketDir: paths.socketDir,
        config: {
          providers: { fake: { base_url: provider.baseUrl } },
          models: { probe: { usd_per_million_tokens: { input: 0, output: 0 } }, exact: PLANNED_MODEL },
          timeouts: TIMEOUTS,
        },
      });
      customer = await stack.operator.customer();
      client = gatewayClient(stack.origin, customer.key);
      provider.script('exact', plannedAnswer);
      const loading = plannedLoad([client], performance.now() + 8_000);
      await sleep(1_500);
      disk.fill(0);
      // Existing pages have room for some more charges, on a slow machine for seconds.
      await expect
        .poll(async () => outcome(await client.chat({ model: 'probe' })), { timeout: 30_000 })
        .toBe('503 no_capacity');
      await sleep(2_000);
      disk.empty();
      // The server may still crash a moment later because of an earlier write.
      void server.exited.then(async () => {
        if (!ending) server = await start();
      });
      const tally = await loading;
      await untilServed();
      await untilSettled(stack, BACK_WITHIN_MS);
      await expectCharged(stack.databaseUrl, tally);
      await stack.operator.verifyLedger();
      expect(tally.complete.size).toBeGreaterThan(30);
    } finally {
      ending = true;
      disk.empty();
      client?.close();
      await stack?.close();
      await server.stop();
      disk.remove();
    }
  });
});
