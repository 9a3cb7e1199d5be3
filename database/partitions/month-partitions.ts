import type pg from 'pg';
import { keepDoing } from '#core/retry/keep-doing.ts';
import type { StoreLog } from '../connection/connection-pool.ts';
import { makeMissing, type PartitionedTable } from './partitions.ts';

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
