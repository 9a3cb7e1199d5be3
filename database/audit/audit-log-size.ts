import type pg from 'pg';
import { run, type Statement } from '../connection/connection-pool.ts';

/** How fast it grows is a matter of hours. */
const MEASURE_EVERY_MS = 60_000;

/** Catalogue and file sizes alone are read, for which no right on the table is needed. */
const SIZE: Statement = {
  name: 'audit_log_size',
  text: `select coalesce(sum(pg_total_relation_size(relid)), 0)::double precision as bytes from pg_partition_tree('audit_log')`,
};

/**
 * Measures the audit log while the process lives, with its indexes. What could not be measured is
 * measured next time. Returns how to stop.
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
