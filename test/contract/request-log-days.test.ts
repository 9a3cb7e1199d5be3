import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { dropOldLog, makeLogPartitions, partitionName } from '#database/request-log/request-log-partitions.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { partitionBounds } from '../fixtures/request-log-day.ts';
import { rowWith } from '../fixtures/request-log-row.ts';
import { createDatabase, SILENT, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

/** The daily partitions of the request log. */
const url = await createDatabase();
const store = opened(async () => openRequestLog(url, SILENT, PATIENT));
let pool: pg.Pool;
const HOUR_MS = 3_600_000;
const today = utcDay(Date.now());

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: url });
});

afterAll(async () => {
  await pool?.end();
});

const linesOf = (organizationId: string): Promise<{ id: string }[]> =>
  sql(url, `select id from request_log where organization_id = '${organizationId}' order by id`);

const partitions = async (): Promise<string[]> =>
  (
    await sql<{ name: string }>(
      url,
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'request_log'::regclass order by 1",
    )
  ).map(({ name }) => name);

test('days are made a week ahead, also by several processes at once', async () => {
  const queries = vi.spyOn(pool, 'query');
  for (const day of [today, today + 20]) {
    await Promise.all([1, 2, 3].map(() => makeLogPartitions(pool, day * DAY_MS, SILENT)));
  }
  // There must be no tolerated errors either, because PostgreSQL would log them.
  expect(queries.mock.settledResults.filter(({ type }) => type === 'rejected')).toEqual([]);
  queries.mockRestore();
  const names = await partitions();
  for (let ahead = 0; ahead <= 7; ahead++) {
    expect(names).toContain(partitionName(today + ahead));
    expect(names).toContain(partitionName(today + 20 + ahead));
  }
});

test('days are dropped after the retention, rows without a day and old sums deleted', async () => {
  const nowMs = today * DAY_MS + 12 * HOUR_MS;
  for (const day of [today - 41, today - 40]) {
    await sql(url, `create table if not exists ${partitionName(day)} partition of request_log ${partitionBounds(day)}`);
  }
  const organizationId = newId('org', Date.now());
  const at = (arrivedAtMs: number) => rowWith({ organizationId, arrivedAtMs });
  // 41 days ago, 40 days ago, and two that have no partition: 42 and 39 days ago.
  const kept = [at(nowMs - 40 * DAY_MS), at(nowMs - 39 * DAY_MS)];
  await store.write([at(nowMs - 42 * DAY_MS), at(nowMs - 41 * DAY_MS), ...kept, at(nowMs - 500 * DAY_MS)]);
  await dropOldLog(pool, nowMs, 40 * DAY_MS, SILENT);
  expect(await partitions()).toContain(partitionName(today - 40));
  expect(await partitions()).not.toContain(partitionName(today - 41));
  expect((await linesOf(organizationId)).map(({ id }) => id)).toEqual(kept.map(({ id }) => id));
  expect(await sql(url, `select from request_stats where organization_id = '${organizationId}'`)).toHaveLength(4);
});

test('dropping a day waits only briefly for a reader, and is repeated later', async () => {
  const day = today - 60;
  await sql(url, `create table if not exists ${partitionName(day)} partition of request_log ${partitionBounds(day)}`);
  const reader = new pg.Client({ connectionString: url });
  await reader.connect();
  await reader.query(`begin; select count(*) from request_log`);
  // The fastest of several counts, because the machine may stall.
  await expect.poll(dropMs).toBeLessThan(2_000);
  expect(await partitions()).toContain(partitionName(day));
  await reader.end();
  await dropOldLog(pool, Date.now(), 40 * DAY_MS, SILENT);
  expect(await partitions()).not.toContain(partitionName(day));
});

async function dropMs(): Promise<number> {
  const beganMs = performance.now();
  await dropOldLog(pool, Date.now(), 40 * DAY_MS, SILENT);
  return performance.now() - beganMs;
}

test('a process whose clock is ahead drops and sums up no more than the clock of PostgreSQL allows', async () => {
  const [kept, old] = [today - 20, today - 91];
  for (const day of [kept, old])
    await sql(url, `create table if not exists ${partitionName(day)} partition of request_log ${partitionBounds(day)}`);
  const organizationId = newId('org', Date.now());
  await store.write([rowWith({ organizationId, arrivedAtMs: Date.now() - 200 * DAY_MS })]);
  const other = openRequestLog(url, SILENT, PATIENT);
  const ahead = Date.now() + 300 * DAY_MS;
  vi.spyOn(Date, 'now').mockReturnValue(ahead);
  try {
    other.keepTidy(() => 40 * DAY_MS);
    await expect.poll(partitions).not.toContain(partitionName(old));
    await expect.poll(summedUntil).not.toBe('1970-01-01');
  } finally {
    vi.restoreAllMocks();
    await other.close();
  }
  expect(await partitions()).toContain(partitionName(kept));
  expect(await sql(url, `select from request_stats where organization_id = '${organizationId}'`)).toHaveLength(1);
  expect(Date.parse(await summedUntil())).toBeLessThanOrEqual(Date.now());
});

async function summedUntil(): Promise<string> {
  const [row] = await sql<{ until: string }>(url, 'select summed_until::text as until from request_days');
  return row?.until ?? '';
}

test('old days are dropped periodically', async () => {
  const day = today - 90;
  await sql(url, `create table if not exists ${partitionName(day)} partition of request_log ${partitionBounds(day)}`);
  store.keepTidy(() => 40 * DAY_MS);
  await expect.poll(partitions).not.toContain(partitionName(day));
});
