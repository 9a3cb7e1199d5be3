import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { Log } from '#core/log/log.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { OmittedCounts } from './omitted-requests.ts';
import { createProviderAttemptLog } from './provider-attempt-log.ts';
import { RefusedQuota } from './refused-quota.ts';
import { createRequestLog } from './request-log-buffer.ts';

export interface OpeningOptions {
  readonly databaseUrl: string;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly workerIndex: number;
  readonly initial: Pick<GatewayConfig, 'workers'>;
}

/** Longest delay of the line that counts omitted requests. */
const REPORT_EVERY_MS = 5_000;

/**
 * Opens both logs. They are written in the background, on a connection that closes with both. If
 * not all was written in time, a statement may hang, and the connection ends with the process.
 */
export function openRequestLogs({ databaseUrl, metrics, log, workerIndex, initial }: OpeningOptions) {
  const store = openRequestLog(databaseUrl, log);
  let open = 2;
  const closed = async (isAllWritten: boolean) => {
    if (isAllWritten) open -= 1;
    if (open === 0) await store.close();
  };
  const requestLog = createRequestLog({ write: store.write, metrics, log });
  const attempts = createProviderAttemptLog({ write: store.writeAttempts, metrics, log });
  const quota = new RefusedQuota(log, { workerIndex, workers: initial.workers });
  const omitted = new OmittedCounts({ write: store.writeOmitted, log, onDropped: metrics.requestLogDropped });
  const reporter = setInterval(() => quota.report(Date.now()), REPORT_EVERY_MS);
  reporter.unref();
  return {
    requestLog: {
      ...requestLog,
      /**
       * Adds a request that was refused before a provider was called. `row` undefined: its route or
       * key does not exist. False: its key or organization has used up its rows of this minute, so
       * the request is only counted and gets no access line either. `isUnusable`: the key is
       * revoked or expired, or its organization suspended.
       */
      addRefused(row: RequestLogRow | undefined, isUnusable: boolean) {
        const nowMs = Date.now();
        const key = row && { id: row.keyId, organizationId: row.organizationId };
        const isWritten = quota.take({ key, isUnusable }, nowMs);
        if (row) isWritten ? requestLog.add(row) : omitted.add(row, nowMs);
        return isWritten;
      },
      async close(withinMs: number) {
        clearInterval(reporter);
        quota.report(Number.POSITIVE_INFINITY);
        await omitted.close(withinMs);
        await closed(await requestLog.close(withinMs));
      },
    },
    attempts: {
      record: attempts.record,
      close: async (withinMs: number) => closed(await attempts.close(withinMs)),
    },
    /** Deletes older rows of both, until this process ends. */
    keepTidy: store.keepTidy,
  };
}

export type RequestLogs = ReturnType<typeof openRequestLogs>;
