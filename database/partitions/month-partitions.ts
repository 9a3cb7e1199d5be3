import type pg from 'pg';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { run, type StoreLog, sql } from '../connection/connection-pool.ts';
import { changePartition } from './change-partition.ts';

/** Months ahead, so that there still are partitions if the database was unused for a quarter. */
const MONTHS_AHEAD = 3;
const CHECK_EVERY_MS = 6 * 3_600_000;

/** Tables with monthly partitions, which are ranges of ids. */
const TABLES = ['generations', 'audit_log'] as const;

const LIST = sql('list_month_partitions')`
  select inhrelid::regclass::text as name from pg_inherits where inhparent = any ($1::regclass[])`;

/** Creates partitions ahead. A failed one is retried; its rows go to the default partition. */
export async function makePartitions(pool: pg.Pool, nowMs: number, log: StoreLog): Promise<void> {
  const present = new Set((await run<{ name: string }>(pool, LIST, [TABLES])).map(({ name }) => name));
  for (const table of TABLES) {
    for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
      const day = firstDay(nowMs, ahead);
      const partition = `${table}_${day.slice(0, 7).replace('-', '_')}`;
      const change = { call: `make_${table}_month`, day, partition };
      const refused = `a partition of ${table} could not be made now`;
      if (!present.has(partition)) await changePartition(pool, { ...change, refused }, log);
    }
  }
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

/** First day of a month, for example `2026-11-01`. */
function firstDay(nowMs: number, ahead: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)).toISOString().slice(0, 10);
}
