import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sql } from '../harness/database.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { gatewayClient, outcome, untilNothingHeld } from '../harness/gateway-client.ts';
import { newDatabase } from '../harness/new-database.ts';
import { type Operator, openOperator } from '../harness/operator.ts';
import { type Relay, startRelay } from '../harness/relay.ts';
import { streamAnswer } from '../provider/acts.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { createGate } from '../provider/gate.ts';
import { type GatewayPod, startGatewayPod } from './gateway-pod.ts';

/** Output limit of a request, and its cost. */
const LIMIT = 100;
const USD_OF_ONE = 0.0001;
/** Half of them end while their process is cut off. The others never end by themselves. */
const STREAMS = 10;
const CUT_MS = 40_000;
/**
 * Time after which PostgreSQL drops a dead connection (`GONE_AFTER_25_S` in lock-connection.ts). On
 * a Unix socket it never does, so the test ends the connection.
 */
const GIVEN_UP_AFTER_MS = 25_000;
const END_LOCKS =
  "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inference-gateway memory-mode lock' and datname = current_database()";
const USAGE = { prompt_tokens: 1, completion_tokens: LIMIT, total_tokens: LIMIT + 1 };
const WAITS = 'until it must have noticed';
const REFUSED = '503 no_capacity';
const OPENS_WITHIN_MS = 60_000;

/**
 * With limits in memory, the owner of the limits is cut off from PostgreSQL while it streams, a
 * process with another data folder takes over, and the connection is restored. The owner's streams
 * hold the whole balance.
 */
let provider: FakeProvider;
let folder: string;
let toPostgres: Relay;
let database: { url: string; drop(): Promise<void> };
let operator: Operator;
let owner: GatewayPod;
let successor: GatewayPod | undefined;
beforeAll(async () => {
  provider = await startFakeProvider({ record: false });
  folder = mkdtempSync(join(tmpdir(), 'gw-cut-'));
  const postgresSocketDir = inject('postgresSocketDir');
  database = await newDatabase(postgresSocketDir);
  operator = await openOperator(database.url);
  const socket = '.s.PGSQL.5432';
  toPostgres = await startRelay(() => ({ path: join(postgresSocketDir, socket) }), {
    from: { path: join(folder, socket) },
  });
  const databaseUrl = database.url.replace(encodeURIComponent(postgresSocketDir), encodeURIComponent(folder));
  owner = await startGatewayPod(podOptions(databaseUrl));
});
afterAll(async () => {
  await Promise.all([owner?.close(), successor?.close()]);
  await Promise.all([toPostgres?.close(), operator?.close()]);
  await database?.drop();
  await provider?.close();
  rmSync(folder, { recursive: true });
});
showLogsOnFailure(() => ({ logs: () => [owner, successor].map((pod) => pod?.logs()).join('\n') }));

function podOptions(databaseUrl: string) {
  return {
    postgresSocketDir: inject('postgresSocketDir'),
    databaseUrl,
    config: {
      providers: { fake: { base_url: provider.baseUrl } },
      models: { exact: { usd_per_million_tokens: { input: 0, output: 1 } } },
      timeouts: { first_byte: '200s', stream_idle: '200s', total: '300s' },
    },
  };
}

test('the successor admits nothing before the former owner has noticed and charged, nothing is lost, and the owner exits', async () => {
  const { organizationId, key } = await operator.customer({ credit: (STREAMS * USD_OF_ONE).toFixed(4) });
  const first = gatewayClient(owner.origin, key);
  const [ends, staysOpen] = [createGate(), createGate()];
  let asked = 0;
  provider.script('exact', (call) => {
    const gate = asked++ % 2 === 0 ? ends : staysOpen;
    return streamAnswer({ usage: USAGE, onEvent: (index) => (index === 2 ? gate.pass() : undefined) })(call);
  });
  const ask = { model: 'exact', max_tokens: LIMIT, stream: true };
  const answers = Promise.all(Array.from({ length: STREAMS }, () => first.chat(ask)));
  await Promise.all([ends.waitFor(STREAMS / 2), staysOpen.waitFor(STREAMS / 2)]);
  expect(outcome(await first.chat(ask))).toBe('402 insufficient_credits');
  toPostgres.cut();
  const cutAtMs = performance.now();
  ends.open();
  await sleep(GIVEN_UP_AFTER_MS);
  expect(await sql(database.url, END_LOCKS)).toHaveLength(1);

  provider.script('exact', streamAnswer({ usage: USAGE }));
  successor = await startGatewayPod({ ...podOptions(database.url), until: 'answers' });
  // The connection is restored only when the successor has the lock, however long its start takes.
  const mended = sleep(Math.max(0, cutAtMs + CUT_MS - performance.now())).then(() => toPostgres.mend());
  const second = gatewayClient(successor.origin, key);
  const ready: number[] = [];
  const openedBy = performance.now() + OPENS_WITHIN_MS;
  let given = outcome(await second.chat(ask));
  while (given === REFUSED && performance.now() < openedBy) {
    ready.push((await fetch(`${successor.metricsOrigin}/ready`)).status);
    await sleep(250);
    given = outcome(await second.chat(ask));
  }
  // The successor admits as many requests as it can.
  const spent = [given];
  for (let tries = 0; tries < 2 * STREAMS; tries++) spent.push(outcome(await second.chat(ask)));
  await mended;
  await expect.poll(() => isRunning(owner.workerPids()[0] ?? 0), { timeout: 30_000 }).toBe(false);
  const texts = (await answers).map(({ text }) => text);
  staysOpen.open();
  expect(texts.filter((text) => text.includes('[DONE]') && text.includes('"finish_reason":"stop"'))).toHaveLength(
    STREAMS / 2,
  );

  await untilNothingHeld(second);
  const where = `organization_id = '${organizationId}'`;
  expect(await sql(database.url, `select reason from losses where ${where} and reason = 'balance'`)).toEqual([]);
  const [{ charges } = { charges: 0 }] = await sql<{ charges: number }>(
    database.url,
    `select count(*)::int as charges from generations where ${where}`,
  );
  const admitted = spent.filter((one) => one === '200').length;
  expect(charges).toBe(STREAMS + admitted);
  expect(await operator.balance(organizationId)).toBeGreaterThanOrEqual(0);
  await operator.verifyLedger();
  // The successor was not ready at first. Later it could spend what the cut streams had held but
  // not used.
  expect(ready[0]).toBe(503);
  expect(new Set(spent)).toEqual(new Set(['200', '402 insufficient_credits']));
  await expect.poll(() => successor?.logs()).toContain(WAITS);

  // The successor has waited, so the next process on this volume does not wait.
  await successor.restartWorker(0, 'SIGKILL');
  expect(successor.logs().split(WAITS)).toHaveLength(2);
  // After a planned stop no process needs to wait, on any volume.
  process.kill(successor.workerPids()[0] ?? 0, 'SIGTERM');
  const owners = () => sql(database.url, 'select memory_owner from ledger_state');
  await expect.poll(owners, { timeout: 30_000 }).toEqual([{ memory_owner: null }]);
}, 180_000);

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
