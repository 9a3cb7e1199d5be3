import type pg from 'pg';
import { only, sql } from './connection/connection-pool.ts';
import { DEAD_LETTERS } from './process-reports/database-figures.ts';

/** Often enough for what grows over hours, or waits for a person. */
const MEASURE_EVERY_MS = 60_000;

export interface StoredAmounts {
  /** Size of all months, with indexes. */
  readonly auditLogBytes: number;
  /** Number of undecided ones. */
  readonly deadLetters: number;
}

/** Reads only the size of the audit log, which needs no right on the table. */
const MEASURE = sql('stored_amounts')`
  select (select coalesce(sum(pg_total_relation_size(relid)), 0)::double precision from pg_partition_tree('audit_log')) as "auditLogBytes",
      ${DEAD_LETTERS} as "deadLetters"`;

/** Measures every minute. A failed measurement is skipped. Returns a function that stops it. */
export function watchStoredAmounts(pool: pg.Pool, onMeasured: (amounts: StoredAmounts) => void): () => void {
  let stopped = false;
  const measure = async (): Promise<void> => {
    const amounts = await only<StoredAmounts>(pool, MEASURE, []).catch(() => undefined);
    if (amounts !== undefined && !stopped) onMeasured(amounts);
  };
  const timer = setInterval(() => void measure(), MEASURE_EVERY_MS);
  timer.unref();
  void measure();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
