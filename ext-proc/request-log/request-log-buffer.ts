import type { Log } from '../../core/log/log.ts';
import type { RequestLogEntry, RequestLogStore } from '../../database/request-log/request-log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { BatchedLog, type BatchedLogBounds } from './batched-log.ts';

/** Takes a line for every request and writes them in batches, beside the requests: none ever waits for it or fails with it. */
export type RequestLog = Pick<BatchedLog<RequestLogEntry>, 'add' | 'waiting' | 'dropped' | 'close'>;

export interface RequestLogOptions {
  readonly store: Pick<RequestLogStore, 'write' | 'close'>;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly bounds?: BatchedLogBounds;
}

const BOUNDS: BatchedLogBounds = {
  capacity: 20_000,
  batch: 500,
  everyMs: 500,
  firstRetryMs: 500,
  longestRetryMs: 10_000,
};

export function createRequestLog({ store, metrics, log, bounds = BOUNDS }: RequestLogOptions): RequestLog {
  const lines = new BatchedLog({
    name: 'the request log',
    store,
    log,
    bounds,
    onWritten: metrics.requestLogWritten,
    onDropped: metrics.requestLogDropped,
  });
  metrics.watchRequestLog(
    () => lines.waiting(),
    () => lines.stalledMs(),
  );
  return lines;
}
