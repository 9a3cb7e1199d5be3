import pg from 'pg';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { PARTITION_LOCK } from '../connection/advisory-locks.ts';
import { run, type StoreLog, sql } from '../connection/connection-pool.ts';
import { asStoreError } from '../connection/unavailable.ts';

/** A table whose partitions are ranges of ids. `generations_2026_11`, `request_log_2026_11_21` */
export interface PartitionedTable {
  readonly name: 'generations' | 'audit_log' | 'request_log' | 'provider_attempts';
  readonly unit: 'month' | 'day';
}

const LIST = sql('list_partitions')`
  select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = $1::regclass order by c.relname`;

export async function listPartitions(pool: pg.Pool, { name }: PartitionedTable): Promise<readonly string[]> {
  return (await run<{ name: string }>(pool, LIST, [name])).map((partition) => partition.name);
}

/** Name of the partition that begins on a day, such as `2026-11-21`. */
export function partitionFrom({ name, unit }: PartitionedTable, day: string): string {
  return `${name}_${day.slice(0, unit === 'month' ? 7 : 10).replaceAll('-', '_')}`;
}

/** Makes those that do not exist. A failed one is retried; its rows go to the default partition. */
export async function makeMissing(
  pool: pg.Pool,
  table: PartitionedTable,
  days: readonly string[],
  log: StoreLog,
): Promise<void> {
  const present = await listPartitions(pool, table);
  for (const day of days)
    if (!present.includes(partitionFrom(table, day))) await changePartition(pool, 'make', table, day, log);
}

/**
 * Makes or drops a partition. False if PostgreSQL refuses it now: the next check tries again.
 *
 * Changes take turns. They lock the whole table briefly, and time out before other statements queue
 * behind them (make_partition.sql). Processes that start together would else create the same table,
 * which PostgreSQL logs as an error.
 */
export async function changePartition(
  pool: pg.Pool,
  how: 'make' | 'drop',
  table: PartitionedTable,
  day: string,
  log: StoreLog,
): Promise<boolean> {
  const turn = `with turn as materialized (select pg_advisory_xact_lock(${PARTITION_LOCK}))`;
  try {
    await pool.query(`${turn} select ${how}_${table.unit}($1, $2) from turn`, [table.name, day]);
    return true;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw asStoreError(error);
    const partition = partitionFrom(table, day);
    log.warn({ partition, code: error.code }, `a partition of ${table.name} could not be made or dropped now`);
    return false;
  }
}

/** Months ahead, so that there still are partitions if the database was unused for a quarter. */
const MONTHS_AHEAD = 3;
const CHECK_EVERY_MS = 6 * 3_600_000;

const TABLES: readonly PartitionedTable[] = [
  { name: 'generations', unit: 'month' },
  { name: 'audit_log', unit: 'month' },
];

/** Creates partitions of this month and the next ones. */
export async function makePartitions(pool: pg.Pool, nowMs: number, log: StoreLog): Promise<void> {
  const now = new Date(nowMs);
  const months = Array.from({ length: 1 + MONTHS_AHEAD }, (_, ahead) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)).toISOString().slice(0, 10),
  );
  for (const table of TABLES) await makeMissing(pool, table, months, log);
}

/** Repeats the check until the returned function is called. */
export function keepMakingPartitions(pool: pg.Pool, log: StoreLog): () => void {
  const failure = 'partitions of generations and of the audit log could not be checked; the next check is in hours';
  return keepDoing(
    CHECK_EVERY_MS,
    () => makePartitions(pool, Date.now(), log),
    (error) => log.warn({ error: String(error) }, failure),
    'after a pause',
  );
}
