import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { lockWaits, sql } from '../harness/database.ts';
import type { GatewayClient } from '../harness/gateway-client.ts';
import { metric } from '../harness/metrics-page.ts';
import { withGateway } from '../harness/with-gateway.ts';
import { jsonAnswer } from '../provider/acts.ts';
import { createGate } from '../provider/gate.ts';

/** A request log that cannot be written affects nothing else. */
let client: GatewayClient;

const gateway = withGateway(
  {
    config: {
      models: { one: {}, gated: {} },
      timeouts: { first_byte: '20s', stream_idle: '20s', total: '60s' },
    },
  },
  { ownPostgres: true },
);
beforeAll(async () => {
  client = await gateway.openClient();
});

async function lockLog(): Promise<{ release(): Promise<void> }> {
  const session = new pg.Client({ connectionString: gateway.stack.databaseUrl });
  session.on('error', () => undefined);
  await session.connect();
  await session.query('begin; lock table request_log in access exclusive mode');
  return { release: () => session.end().catch(() => undefined) };
}

async function loggedOf(requestIds: readonly unknown[]): Promise<number> {
  const list = requestIds.map((id) => `'${id}'`).join();
  const rows = await sql<{ lines: string }>(
    gateway.stack.databaseUrl,
    `select count(*) as lines from request_log where request_id in (${list})`,
  );
  return Number(rows[0]?.lines);
}

test('rows wait while the log is locked or the server is down, requests are served, and no row is lost', async () => {
  gateway.provider.script('one', jsonAnswer());
  const gate = createGate();
  gateway.provider.script('gated', gate.before(jsonAnswer()));
  const lock = await lockLog();
  const received = await Promise.all(Array.from({ length: 40 }, () => client.chat({ model: 'one' })));
  expect(received.filter(({ status }) => status !== 200)).toEqual([]);
  await expect.poll(() => lockWaits(gateway.stack.databaseUrl)).toBeGreaterThan(0);
  const late = await client.chat({ model: 'one' });
  expect(late.status).toBe(200);
  // A request's row is queued after its response.
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_request_log_waiting')).toBe(41);

  const underWay = client.chat({ model: 'gated' });
  await gate.waitFor(1);
  await gateway.postgres.crash();
  await lock.release();
  gate.open();
  const overtaken = await underWay;
  expect(overtaken.status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await gateway.postgres.restart();

  const requestIds = [...received, late, overtaken].map(({ headers }) => headers['x-request-id']);
  await expect.poll(() => loggedOf(requestIds), { timeout: 30_000, interval: 100 }).toBe(42);
  expect(await metric(gateway.stack.metricsOrigin, 'gateway_request_log_dropped_total')).toBe(0);
  const [sums] = await sql<{ requests: string }>(
    gateway.stack.databaseUrl,
    "select sum(requests) as requests from request_stats where code = ''",
  );
  expect(Number(sums?.requests)).toBe(42);
});

test('waiting rows are written before the process ends', async () => {
  const last = await client.get('/v1/models');
  expect(last.status).toBe(200);
  await gateway.stack.gateway.end('SIGTERM', PATIENCE_MS);
  expect(await loggedOf([last.headers['x-request-id']])).toBe(1);
});
