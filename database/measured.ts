import type pg from 'pg';
import { compareClocks } from '#core/net/server-clock.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { only, type StoreLog, sql } from './connection/connection-pool.ts';
import { databaseClock } from './connection/database-clock.ts';
import { DEAD_LETTERS } from './process-reports/database-figures.ts';

/** Often enough for what grows over hours, or waits for a person. */
const MEASURE_EVERY_MS = 60_000;

export interface Measured {
  /** Size of all months, with indexes. */
  readonly auditLogBytes: number;
  /** Number of undecided ones. */
  readonly deadLetters: number;
  /** Lead of this process's clock over PostgreSQL's. */
  readonly clockAheadMs: number;
}

/** Reads only the size of the audit log, which needs no right on the table. */
const STORED = sql('stored_amounts')`
  select (select coalesce(sum(pg_total_relation_size(relid)), 0)::double precision from pg_partition_tree('audit_log')) as "auditLogBytes",
      ${DEAD_LETTERS} as "deadLetters"`;

async function measure(pool: pg.Pool): Promise<Measured> {
  const stored = await only<Omit<Measured, 'clockAheadMs'>>(pool, STORED, []);
  const { clockAheadMs } = await compareClocks(() => databaseClock(pool));
  return { ...stored, clockAheadMs: -clockAheadMs };
}

/** Measures every minute. Returns a function that stops it. */
export function keepMeasuring(pool: pg.Pool, onMeasured: (measured: Measured) => void, log: StoreLog): () => void {
  return keepDoing(
    MEASURE_EVERY_MS,
    () => measure(pool).then(onMeasured),
    (error) => log.warn({ err: error }, 'the database could not be measured'),
  );
}
