import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { createRequestLog } from '#ext-proc/requests/log/request-log-buffer.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { cpuMsOf } from '../fixtures/cpu-time.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { createDatabase, lockWaits, sql } from '../harness/database.ts';

test('while the log is locked, rows are buffered up to the bound, then dropped, and never delay a request', async () => {
  const url = await createDatabase();
  const metrics = createMetrics();
  const log = pino({ level: 'silent' });
  const store = openRequestLog(url, log, PATIENT);
  const requestLog = createRequestLog({ write: store.write, metrics, log });
  const organizationId = newId('org', Date.now());
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  await session.query('begin; lock table request_log in access exclusive mode');

  const entries = Array.from({ length: 20_100 }, () => rowWith({ organizationId }));
  const addingMs = cpuMsOf(() => {
    for (const entry of entries.slice(0, 10_000)) requestLog.add(entry);
  });
  await expect.poll(() => lockWaits(url)).toBeGreaterThan(0);
  for (const entry of entries.slice(10_000)) requestLog.add(entry);
  expect([requestLog.waiting(), requestLog.dropped()]).toEqual([20_000, 100]);
  // Adding a row takes microseconds.
  expect(addingMs).toBeLessThan(500);

  await session.end();
  await requestLog.close(30_000);
  await store.close();
  const [written] = await sql(
    url,
    `select count(*) as lines, (select sum(requests) from request_stats) as requests, max(id) as last from request_log`,
  );
  const last = entries.slice(0, 20_000).reduce((newest, { id }) => (id > newest ? id : newest), '');
  expect(written).toEqual({ lines: '20000', requests: '20000', last });
});
