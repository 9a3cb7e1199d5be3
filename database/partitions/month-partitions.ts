import pg from 'pg';
import { PARTITION_LOCK } from '../connection/advisory-locks.ts';
import type { StoreLog } from '../connection/connection-pool.ts';
import { asStoreError } from '../connection/unavailable.ts';

/** Months ahead, so that there still are partitions if the database was unused for a quarter. */
const MONTHS_AHEAD = 3;
const CHECK_EVERY_MS = 6 * 3_600_000;

/** Tables with monthly partitions, which are ranges of ids. */
const TABLES = ['generations', 'audit_log'] as const;
type TableOfMonths = (typeof TABLES)[number];

/** Creates partitions ahead. A failed one is retried; its rows go to the default partition. */
export async function makePartitions(pool: pg.Pool, nowMs: number, log: StoreLog): Promise<void> {
  const { rows } = await pool
    .query<{ name: string }>(
      'select inhrelid::regclass::text as name from pg_inherits where inhparent = any ($1::regclass[])',
      [TABLES],
    )
    .catch((error: unknown) => {
      throw asStoreError(error);
    });
  const present = new Set(rows.map((row) => row.name));
  for (const table of TABLES) {
    for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
      const month = monthOf(nowMs, ahead);
      if (!present.has(`${table}_${month.name}`)) await makePartition(pool, table, month, log);
    }
  }
}

/** Repeats the check until the returned function is called. */
export function keepMakingPartitions(pool: pg.Pool, log: StoreLog): () => void {
  const timer = setInterval(() => {
    makePartitions(pool, Date.now(), log).catch((error: unknown) =>
      log.warn(
        { error: String(error) },
        'partitions of generations and of the audit log could not be checked; the next check is in hours',
      ),
    );
  }, CHECK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

interface Month {
  /** For example `2026_11`. */
  readonly name: string;
  /** For example `2026-11-01`. */
  readonly firstDay: string;
}

function monthOf(nowMs: number, ahead: number): Month {
  const now = new Date(nowMs);
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
  const firstDay = start.toISOString().slice(0, 10);
  return { name: firstDay.slice(0, 7).replace('-', '_'), firstDay };
}

/** Serializes processes that start together, whose `create table` would log errors. */
const TURN = `with turn as materialized (select pg_advisory_xact_lock(${PARTITION_LOCK}))`;

async function makePartition(pool: pg.Pool, table: TableOfMonths, month: Month, log: StoreLog): Promise<void> {
  try {
    await pool.query(`${TURN} select make_${table}_month($1) from turn`, [month.firstDay]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw asStoreError(error);
    log.warn(
      { partition: `${table}_${month.name}`, code: error.code },
      `a partition of ${table} could not be made now`,
    );
  }
}
