import { openRequestLog } from './stores/postgres/request-log-writer.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { createProviderAttemptLog, type ProviderAttemptLog } from './telemetry/provider-attempt-log.ts';
import { createRequestLog, type RequestLog } from './telemetry/request-log.ts';

export interface KeepingOptions {
  readonly databaseUrl: string;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** What is written beside the requests, on one connection. */
export interface KeptLogs {
  readonly requestLog: RequestLog;
  readonly attempts: ProviderAttemptLog;
  /** Keeps both for that long, until this process ends. */
  keepTidy(retentionMs: () => number): void;
}

/** The log of requests in PostgreSQL, and that of the attempts at providers. The connection closes with the second of them. */
export function keepRequestLog({ databaseUrl, metrics, log }: KeepingOptions): KeptLogs {
  const store = openRequestLog(databaseUrl, log);
  let open = 2;
  const close = async () => {
    open -= 1;
    if (open === 0) await store.close();
  };
  return {
    requestLog: createRequestLog({ store: { write: store.write, close }, metrics, log }),
    attempts: createProviderAttemptLog({ store: { write: store.attempts.write, close }, metrics, log }),
    keepTidy: store.keepTidy,
  };
}
