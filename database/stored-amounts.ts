import type pg from 'pg';
import { only, sql } from './connection/connection-pool.ts';

/** Once a minute is often enough for alerts about what grows over hours, or waits for a person. */
const MEASURE_EVERY_MS = 60_000;

export interface StoredAmounts {
  /** Of all months, with indexes. */
  readonly auditLogBytes: number;
  /** Those that nobody has decided about. */
  readonly deadLetters: number;
}

/** Of the audit log: only the system catalogue and file sizes, which needs no right on it. */
const MEASURE = sql('stored_amounts')`
  select (select coalesce(sum(pg_total_relation_size(relid)), 0)::double precision from pg_partition_tree('audit_log')) as "auditLogBytes",
      (select count(*)::integer from (select from dead_letters where resolution is null limit 10000) d) as "deadLetters"`;

/** Measures every minute. Skips what fails. Returns a function that stops this. */
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
