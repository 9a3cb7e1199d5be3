import type pg from 'pg';
import { DAY_MS, type UtcDay, utcDay, utcDayText } from '#core/clock.ts';
import type { IdPrefix } from '#core/id-form.ts';
import { idFloor } from '#core/ids.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { run, type Statement, type StoreLog, sql } from '../connection/connection-pool.ts';
import { databaseClock } from '../connection/database-clock.ts';
import { changePartition } from '../partitions/change-partition.ts';
import { deleteOmitted } from './omitted-requests.ts';
import { KEPT_DAYS, sumUpRequestDays } from './request-day-stats.ts';

/** Days ahead, so that there still are partitions if the database was unused for some days. */
const DAYS_AHEAD = 7;
const CHECK_EVERY_MS = 600_000;
/** Rows that one statement deletes, so that it stays short. The next check continues. */
const ROWS_AT_ONCE = 1_000;
const MOST_ROUNDS = 100;

/** A table with daily partitions, which are ranges of ids. */
interface TableOfDays {
  readonly name: 'request_log' | 'provider_attempts';
  readonly idColumn: 'id' | 'generation_id';
  readonly idPrefix: IdPrefix;
}

const REQUEST_LOG: TableOfDays = { name: 'request_log', idColumn: 'id', idPrefix: 'log' };
/** Provider attempts are kept as long as the request log. */
const TABLES: readonly TableOfDays[] = [
  REQUEST_LOG,
  { name: 'provider_attempts', idColumn: 'generation_id', idPrefix: 'gen' },
];

const DELETE_STATS = sql('delete_old_request_stats')`
  delete from request_stats where ctid in (
      select ctid from request_stats where hour < to_timestamp($1::double precision / 1000) limit ${ROWS_AT_ONCE} for update skip locked
    ) returning 1`;

const DELETE_OMITTED = deleteOmitted(ROWS_AT_ONCE);

/** Creates partitions ahead. A failed one is retried; its rows go to the default partition. */
export async function makeLogPartitions(pool: pg.Pool, nowMs: number, log: StoreLog): Promise<void> {
  for (const table of TABLES) {
    const present = new Set((await listPartitions(pool, table)).map(({ day }) => day));
    for (let day = utcDay(nowMs); day <= utcDay(nowMs) + DAYS_AHEAD; day++) {
      if (!present.has(day)) await change(pool, 'make', day, table, log);
    }
  }
}

/** Drops partitions past the retention. If a long read uses one, it is dropped later. */
export async function dropOldLog(pool: pg.Pool, nowMs: number, retentionMs: number, log: StoreLog): Promise<void> {
  const keptFromMs = nowMs - retentionMs;
  for (const table of TABLES) {
    for (const { day } of await listPartitions(pool, table)) {
      if ((day + 1) * DAY_MS > keptFromMs) continue;
      // A read that blocks this day blocks the others too.
      if (!(await change(pool, 'drop', day, table, log))) break;
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

export function partitionName(day: UtcDay, { name } = REQUEST_LOG): string {
  return `${name}_${utcDayText(day).replaceAll('-', '_')}`;
}

async function listPartitions(
  pool: pg.Pool,
  { name: table }: TableOfDays,
): Promise<readonly { readonly day: UtcDay }[]> {
  const rows = await run<{ name: string }>(pool, LIST_PARTITIONS, [table]);
  return rows.flatMap(({ name }) => {
    const date = name.slice(`${table}_`.length);
    return /^\d{4}_\d{2}_\d{2}$/.test(date) ? [{ day: Date.parse(date.replaceAll('_', '-')) / DAY_MS }] : [];
  });
}

const LIST_PARTITIONS = sql('list_log_partitions')`
  select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = $1::regclass order by c.relname`;

function change(pool: pg.Pool, how: 'make' | 'drop', day: UtcDay, table: TableOfDays, log: StoreLog): Promise<boolean> {
  const refused = 'a partition of the request log, or of the attempts kept with it, could not be made or dropped now';
  const named = { call: `${how}_${table.name}_day`, partition: partitionName(day, table) };
  return changePartition(pool, { ...named, day: utcDayText(day), refused }, log);
}

async function deleteAll(pool: pg.Pool, statement: Statement, bound: unknown): Promise<void> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const deleted = await run(pool, statement, [bound]);
    if (deleted.length < ROWS_AT_ONCE) return;
  }
}
