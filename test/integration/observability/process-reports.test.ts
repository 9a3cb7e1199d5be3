import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '#database/connection/connection-pool.ts';
import { currentConfiguration, heldNow, listProcesses } from '#database/process-reports/process-reports.ts';
import type { ReportedConfiguration, ReportedProcess } from '#database/process-reports/report.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { PATIENCE_MS, PATIENT } from '../../fixtures/patience.ts';
import { createDatabase, SILENT } from '../../harness/database.ts';
import { type GatewayClient, gatewayClient, jsonOf, outcome } from '../../harness/gateway-client.ts';
import type { Customer } from '../../harness/operator.ts';
import { PROVIDER_SECRET, type TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, reset, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

/** The time of two reports, and more for a busy machine. */
const SOON = { interval: 50 };

let pool: pg.Pool;
let customer: Customer;
let client: GatewayClient;

function configWith(models: TestConfig['models']): TestConfig {
  return {
    providers: { fake: { base_url: gateway.provider.baseUrl } },
    models,
    timeouts: { total: '30s', first_byte: '20s' },
  };
}

const gateway = withGateway(() => ({ config: configWith({ one: {} }) }));
beforeAll(async () => {
  pool = createPool(gateway.stack.databaseUrl, 1, PATIENT, SILENT);
  customer = await gateway.stack.operator.customer();
  client = gatewayClient(gateway.stack.origin, customer.key);
});

afterAll(async () => {
  client?.close();
  await pool?.end();
});

async function own(): Promise<ReportedProcess | undefined> {
  return (await listProcesses(pool)).find(({ pid }) => pid === gateway.stack.gateway.pid);
}

async function configuration(): Promise<ReportedConfiguration | undefined> {
  return currentConfiguration(pool);
}

const modelIds = async () => (await configuration())?.models.map(({ id }) => id);

test('a gateway process reports periodically that it is ready, and no secret', async () => {
  await expect.poll(async () => (await own())?.report.notReady, SOON).toBe(null);
  const first = await own();
  expect(first).toMatchObject({ host: hostname(), worker: 0 });
  expect(first?.report.envoy).toMatchObject({ reachable: true, version: '1.39.3', state: 'LIVE' });
  expect(first?.report.providers).toEqual({
    fake: { attempts: 0, failures: 0, lastFailure: null, ejected: false, restingTargets: 0 },
  });
  expect(Math.abs((first?.startedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
  await expect.poll(async () => (await own())?.reportedAtMs, SOON).not.toBe(first?.reportedAtMs);
  await expect.poll(async () => (await own())?.ageMs, SOON).toBeLessThan(2_000);
  // The interval is two seconds, less the delay of the former report.
  await expect.poll(async () => (await own())?.report.overMs, SOON).toBeGreaterThan(1_000);
  const next = await own();
  // Probes of the process and of this test's start are not counted as requests.
  expect(next?.report.requests).toEqual({ inFlight: 0, ended: 0, failed: 0 });
  const [row] = (await pool.query<{ row: string }>('select p::text as row from gateway_processes p')).rows;
  expect(row?.row).toContain('"one"');
  expect(row?.row).not.toContain(PROVIDER_SECRET);
});

test('the hold of a request is reported to the nano-dollar until it ends', async () => {
  const gate = createGate();
  gateway.provider.script('one', gate.before(jsonAnswer()));
  const held = () => heldNow(pool, customer.organizationId);
  const inFlight = client.chat({ model: 'one', max_tokens: 1000 });
  await gate.waitFor(1);
  await expect.poll(held, SOON).toBeGreaterThan(0n);
  const credits = jsonOf<{ data: { held: number } }>(await client.get('/v1/credits')).data;
  expect(await held()).toBe(BigInt(Math.round(credits.held * 1e9)));
  // A report may include the read of the credits, so further ones are awaited.
  await expect
    .poll(async () => (await own())?.report, SOON)
    .toMatchObject({ requests: { inFlight: 1 }, holds: { count: 1, leftOut: 0 } });
  gate.open();
  expect(outcome(await inFlight)).toBe('200');
  await expect.poll(held, SOON).toBe(0n);
  expect((await own())?.report.holds).toEqual({ totalNanoUsd: '0', count: 0, organizations: {}, leftOut: 0 });
});

/** Sums all later reports, because this process may stall while one replaces another. */
async function sumOfReports(): Promise<() => Promise<{ failed?: number; ended?: number }>> {
  await pool.query(
    `create table all_reports (requests jsonb not null);
     create function keep_report() returns trigger language plpgsql security definer as
       $$begin insert into all_reports values (new.report -> 'requests'); return new; end$$;
     create trigger keep_report after insert or update on gateway_processes for each row execute function keep_report()`,
  );
  const sums = `select sum((requests ->> 'failed')::int)::int as failed, sum((requests ->> 'ended')::int)::int as ended from all_reports`;
  return async () => (await pool.query<{ failed: number; ended: number }>(sums)).rows[0] ?? {};
}

test('failures are reported once as failed requests, and for minutes with the provider', async () => {
  await expect.poll(async () => (await own())?.report.requests.ended, SOON).toBe(0);
  const counted = await sumOfReports();
  expect(outcome(await client.chat({ model: 'unknown' }))).toBe('404 model_not_found');
  gateway.provider.script('one', errorAnswer(503, 'secret words of the provider'));
  expect(outcome(await client.chat({ model: 'one' }))).toBe('503 upstream_error');
  gateway.provider.script('one', streamThen(2, reset));
  await client.chat({ model: 'one', stream: true });
  await expect.poll(async () => (await counted()).failed, SOON).toBe(2);
  expect((await counted()).ended).toBe(3);
  const health = (await own())?.report.providers.fake;
  // The first request had an attempt and a retry; the stream of the second broke.
  expect(health).toMatchObject({ attempts: 4, failures: 3, lastFailure: { result: 'reset' } });
  expect(JSON.stringify(await own())).not.toContain('secret words');
  gateway.provider.script('one', streamAnswer());
});

test('a reload is reported with its models and prices; a refused file with its problem and position', async () => {
  const before = await configuration();
  expect(before).toMatchObject({
    path: join(gateway.stack.paths.dataDir, 'gateway.yaml'),
    refused: null,
    restartNeeded: [],
  });
  expect(before?.providers).toEqual([
    { name: 'fake', host: new URL(gateway.provider.baseUrl).host, scheme: 'http', hasKey: true, onDisconnect: null },
  ]);
  gateway.stack.writeConfig(
    configWith({ one: {}, two: { capabilities: ['tools'], context_window: 5_000, max_output_tokens: 9 } }),
  );
  await expect.poll(modelIds, SOON).toEqual(['one', 'two']);
  const after = await configuration();
  expect(after?.models[1]).toMatchObject({
    capabilities: ['tools'],
    contextWindow: 5_000,
    defaultOutputTokens: 9,
    prices: { inputPicoUsd: '1000000', outputPicoUsd: '1000000' },
    targets: [{ provider: 'fake', model: 'two' }],
  });
  expect(after?.loadedAtMs).toBeGreaterThan(before?.loadedAtMs ?? 0);
  expect((await own())?.report.configurationFingerprint).toBe(after?.fingerprint);
  expect(after?.fingerprint).not.toBe(before?.fingerprint);

  gateway.stack.writeConfig(configWith({ one: { context_window: -1 } }));
  await expect.poll(async () => (await configuration())?.refused?.problems.length, SOON).toBe(1);
  const refused = await configuration();
  expect(refused?.refused?.problems[0]?.message).toContain('models.one.context_window');
  expect(refused?.refused?.problems[0]?.line).toBeGreaterThan(1);
  expect(refused).toEqual({ ...after, refused: refused?.refused });
});

test('a field that needs a restart, and a model that cannot work, are reported', async () => {
  gateway.stack.writeConfig(configWith({ one: {}, lost: { targets: [{ provider: 'nowhere', model: 'x' }] } }));
  const path = join(gateway.stack.paths.dataDir, 'gateway.yaml');
  const file = JSON.parse(readFileSync(path, 'utf8'));
  file.listen.metrics = '127.0.0.1:1';
  writeFileSync(`${path}.new`, JSON.stringify(file));
  renameSync(`${path}.new`, path);
  await expect.poll(async () => (await configuration())?.restartNeeded, SOON).toEqual(['listen']);
  const now = await configuration();
  expect(now?.models.find(({ id }) => id === 'lost')).toMatchObject({ targets: [], problem: expect.any(String) });
  expect(now?.warnings.map(({ message }) => message).join()).toContain('models.lost.targets[0].provider');
  expect(now?.refused).toBe(null);
});

test('the doctor on a machine without gateway processes skips the checks of their files and ports', async () => {
  await expect.poll(own, SOON).toBeDefined();
  const { rows } = await pool.query<{ row: unknown }>('select to_jsonb(p) as row from gateway_processes p limit 1');
  const url = await createDatabase();
  const other = createPool(url, 1, PATIENT, SILENT);
  const insert = `insert into gateway_processes
    select (jsonb_populate_record(null::gateway_processes, $1::jsonb || '{"host": "gateway-0"}')).*`;
  await other.query(insert, [JSON.stringify(rows[0]?.row)]);
  await other.query('update gateway_processes set reported_at = now()');
  await other.end();
  const result = await runCommandLine(['doctor'], { ...gateway.stack.env, DATABASE_URL: url });
  const { findings } = (result as { json: { findings: { check: string; verdict: string }[] } }).json;
  const skipped = findings.filter(({ verdict }) => verdict === 'skipped').map(({ check }) => check);
  expect(skipped).toEqual(['limit store', 'readiness', 'certificate', 'disk', 'provider fake']);
});

test('the doctor reads the next report of a process that was not ready yet', async () => {
  await expect.poll(async () => (await own())?.report.notReady, SOON).toBe(null);
  await pool.query(`update gateway_processes set report = jsonb_set(report, '{notReady}', '"it starts"')`);
  const result = await runCommandLine(['doctor'], gateway.stack.env);
  const { findings } = (result as { json: { findings: { check: string; found: string }[] } }).json;
  const ofProcess = findings.filter(({ check }) => check.startsWith('gateway ') && check.endsWith('/0'));
  expect(ofProcess.map(({ found }) => found)).toEqual([expect.stringMatching(/^ready, process/)]);
});

test('without Envoy a process reports why it is not ready; a clean end deletes its row', async () => {
  await gateway.stack.envoy.end('SIGKILL');
  const notReady = expect.stringContaining('a request through Envoy failed');
  // The first report may have a cached readiness.
  await expect
    .poll(async () => (await own())?.report, SOON)
    .toMatchObject({ envoy: { reachable: false }, notReady, providers: { fake: { ejected: null } } });
  await gateway.stack.gateway.end('SIGTERM', PATIENCE_MS);
  expect(await listProcesses(pool)).toEqual([]);
});
