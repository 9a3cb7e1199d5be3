import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import type { Log } from '../../core/log/log.ts';
import type { RequestLogEntry } from '../../database/request-log/request-log.ts';
import { openRequestLog } from '../../database/request-log/request-log-writer.ts';
import { LeftOutCounts } from '../request-log/left-out-requests.ts';
import { createProviderAttemptLog, type ProviderAttemptLog } from '../request-log/provider-attempt-log.ts';
import { RefusedLines } from '../request-log/refused-lines.ts';
import { createRequestLog, type RequestLog } from '../request-log/request-log-buffer.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export interface KeepingOptions {
  readonly databaseUrl: string;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly workerIndex: number;
  readonly initial: Pick<GatewayConfig, 'workers'>;
}

/** The log of requests, which bounds what refused ones write. */
export interface KeptRequestLog extends RequestLog {
  /**
   * Takes a request that was refused before a provider was asked; `undefined`: of nobody's key. False: its key has had its lines of this minute, so
   * that it is counted alone, and is to have no line elsewhere either. `isUnusable`: the key, or its organization.
   */
  addRefused(entry: RequestLogEntry | undefined, isUnusable: boolean): boolean;
}

/** Logs that are written beside the requests, on one connection. */
export interface KeptLogs {
  readonly requestLog: KeptRequestLog;
  readonly attempts: ProviderAttemptLog;
  /** Keeps both for that long, until this process ends. */
  keepTidy(retentionMs: () => number): void;
}

/** How late the line about lines that were left out may come. */
const TELL_EVERY_MS = 5_000;

/** The log of requests in PostgreSQL, and that of the attempts at providers. The connection closes with the second of them. */
export function keepRequestLog({ databaseUrl, metrics, log, workerIndex, initial }: KeepingOptions): KeptLogs {
  const store = openRequestLog(databaseUrl, log);
  let open = 2;
  const close = async () => {
    open -= 1;
    if (open === 0) await store.close();
  };
  const requestLog = createRequestLog({ store: { write: store.write, close }, metrics, log });
  const lines = new RefusedLines(log, { workerIndex, workers: initial.workers });
  const leftOut = new LeftOutCounts({ store: store.leftOut, log, onDropped: metrics.requestLogDropped });
  const teller = setInterval(() => lines.tell(Date.now()), TELL_EVERY_MS);
  teller.unref();
  return {
    requestLog: {
      add: (entry) => requestLog.add(entry),
      addRefused(entry, isUnusable) {
        const nowMs = Date.now();
        const key = entry && { id: entry.keyId, organizationId: entry.organizationId };
        const isWritten = lines.take({ key, isUnusable }, nowMs);
        if (entry) isWritten ? requestLog.add(entry) : leftOut.add(entry, nowMs);
        return isWritten;
      },
      waiting: () => requestLog.waiting(),
      dropped: () => requestLog.dropped(),
      async close(withinMs) {
        clearInterval(teller);
        lines.tell(Number.POSITIVE_INFINITY);
        await leftOut.close(withinMs);
        await requestLog.close(withinMs);
      },
    },
    attempts: createProviderAttemptLog({ store: { write: store.attempts.write, close }, metrics, log }),
    keepTidy: store.keepTidy,
  };
}
