import type pg from 'pg';
import { DAY_MS, type UtcDay, utcDay, utcDayText } from '#core/clock.ts';
import type { IdPrefix } from '#core/id-form.ts';
import { idFloor } from '#core/ids.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { run, type Statement, type StoreLog, sql } from '../connection/connection-pool.ts';
import { databaseClock } from '../connection/database-clock.ts';
import {
  changePartition,
  listPartitions,
  makeMissing,
  type PartitionedTable,
  partitionFrom,
} from '../partitions/partitions.ts';
import { deleteOmitted } from './omitted-requests.ts';
import { KEPT_DAYS, sumUpRequestDays } from './request-day-stats.ts';

/** Days ahead, so that there still are partitions if the database was unused for some days. */
const DAYS_AHEAD = 7;
const CHECK_EVERY_MS = 600_000;
/** Rows that one statement deletes, so that it stays short. The next check continues. */
const ROWS_AT_ONCE = 1_000;
const MOST_ROUNDS = 100;

interface TableOfDays extends PartitionedTable {
  readonly unit: 'day';
  readonly idColumn: 'id' | 'generation_id';
  readonly idPrefix: IdPrefix;
}

const REQUEST_LOG: TableOfDays = { name: 'request_log', unit: 'day', idColumn: 'id', idPrefix: 'log' };
/** Provider attempts are kept as long as the request log. */
const TABLES: readonly TableOfDays[] = [
  REQUEST_LOG,
  { name: 'provider_attempts', unit: 'day', idColumn: 'generation_id', idPrefix: 'gen' },
];

const DELETE_STATS = sql('delete_old_request_stats')`
  delete from request_stats where ctid in (
      select ctid from request_stats where hour < to_timestamp($1::double precision / 1000) limit ${ROWS_AT_ONCE} for update skip locked
    ) returning 1`;

const DELETE_OMITTED = deleteOmitted(ROWS_AT_ONCE);

/** Creates partitions of today and the next days. */
export async function makeLogPartitions(pool: pg.Pool, nowMs: number, log: StoreLog): Promise<void> {
  const days = Array.from({ length: 1 + DAYS_AHEAD }, (_, ahead) => utcDayText(utcDay(nowMs) + ahead));
  for (const table of TABLES) await makeMissing(pool, table, days, log);
}

/** Drops partitions past the retention. If a long read uses one, it is dropped later. */
export async function dropOldLog(pool: pg.Pool, nowMs: number, retentionMs: number, log: StoreLog): Promise<void> {
  const keptFromMs = nowMs - retentionMs;
  for (const table of TABLES) {
    for (const day of await daysOf(pool, table)) {
      if (Date.parse(day) + DAY_MS > keptFromMs) continue;
      // A read that blocks this day blocks the others too.
      if (!(await changePartition(pool, 'drop', table, day, log))) break;
    }
    await deleteAll(pool, deleteOthers(table), idFloor(table.idPrefix, keptFromMs));
  }
  await deleteAll(pool, DELETE_OMITTED, keptFromMs);
  await deleteAll(pool, DELETE_STATS, nowMs - KEPT_DAYS * DAY_MS);
}

/** Deletes old rows of the default partition. Most have wrong times. */
function deleteOthers({ name, idColumn }: TableOfDays): Statement {
  return sql(`delete_old_${name}_rows`)`
    delete from ${name}_other where ctid in (
      select ctid from ${name}_other where ${idColumn} < $1 limit ${ROWS_AT_ONCE} for update skip locked
    ) returning 1`;
}

/** Creates, drops and sums up days until the returned function is called. */
export function keepLogPartitions(pool: pg.Pool, retentionMs: () => number, log: StoreLog): () => void {
  const check = async (): Promise<void> => {
    await makeLogPartitions(pool, Date.now(), log);
    const nowMs = Math.min(Date.now(), await databaseClock(pool));
    await dropOldLog(pool, nowMs, retentionMs(), log);
    await sumUpRequestDays(pool, nowMs);
  };
  return keepDoing(CHECK_EVERY_MS, check, (error) =>
    log.warn({ error: String(error) }, 'partitions of the request log could not be checked yet'),
  );
}

export function partitionName(day: UtcDay): string {
  return partitionFrom(REQUEST_LOG, utcDayText(day));
}

/** The days that have a partition, such as `2026-11-21`, the oldest first. */
async function daysOf(pool: pg.Pool, table: TableOfDays): Promise<readonly string[]> {
  const days = (await listPartitions(pool, table)).map((name) => name.slice(`${table.name}_`.length));
  return days.filter((day) => /^\d{4}_\d{2}_\d{2}$/.test(day)).map((day) => day.replaceAll('_', '-'));
}

async function deleteAll(pool: pg.Pool, statement: Statement, bound: unknown): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const deleted = await run(pool, statement, [bound]);
    if (deleted.length < ROWS_AT_ONCE) return;
  }
}
