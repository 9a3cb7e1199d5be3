import type pg from 'pg';
import { run, sql } from '../connection/connection-pool.ts';

/** Once a minute is often enough, because the audit log grows over hours. */
const MEASURE_EVERY_MS = 60_000;

/** Reads only the system catalogue and file sizes, which needs no right on the table. */
const SIZE = sql('audit_log_size')`
  select coalesce(sum(pg_total_relation_size(relid)), 0)::double precision as bytes from pg_partition_tree('audit_log')`;

/**
 * Measures the size of the audit log with its indexes every minute. A failed measurement is
 * skipped. Returns a function that stops it.
 */
export function watchAuditLogSize(pool: pg.Pool, onBytes: (bytes: number) => void): () => void {
  let stopped = false;
  const measure = async (): Promise<void> => {
    const [size] = await run<{ bytes: number }>(pool, SIZE, []).catch(() => []);
    if (size !== undefined && !stopped) onBytes(size.bytes);
  };
  const timer = setInterval(() => void measure(), MEASURE_EVERY_MS);
  timer.unref();
  void measure();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}
