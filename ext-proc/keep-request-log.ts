import { openRequestLog } from './stores/postgres/request-log-writer.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { createRequestLog, type RequestLog } from './telemetry/request-log.ts';

export interface KeepingOptions {
  readonly databaseUrl: string;
  readonly retentionMs: () => number;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The log of requests in PostgreSQL: written, and kept for as long as the configuration says, until this process ends. */
export function keepRequestLog({ databaseUrl, retentionMs, metrics, log }: KeepingOptions): RequestLog {
  const store = openRequestLog(databaseUrl, log);
  store.keepTidy(retentionMs);
  return createRequestLog({ store, metrics, log });
}
