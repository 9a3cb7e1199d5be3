import { type BufferBounds, BufferedWriter } from '#core/batching/buffered-writer.ts';
import type { Log } from '#core/log/log.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import type { OpenRequestLog } from '#database/request-log/request-log-writer.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

export interface RequestLogOptions {
  readonly write: OpenRequestLog['write'];
  readonly metrics: Metrics;
  readonly log: Log;
  readonly bounds?: BufferBounds;
}

/** If more rows than this wait, later ones are written without `metadata`, which may have 40 KB. */
const MOST_WITH_METADATA = 1_000;

/** A row without metadata takes about 1 KB. An hour of uncharged attempts fits: they are few. */
export const LOG_BOUNDS: BufferBounds = {
  capacity: 20_000,
  batch: 500,
  everyMs: 500,
  firstRetryMs: 500,
  longestRetryMs: 10_000,
};

/** Writes a row for every request, in batches. No request waits or fails because of this. */
export function createRequestLog({ write, metrics, log, bounds = LOG_BOUNDS }: RequestLogOptions) {
  let dropped = 0;
  const drop = (rows: number): void => {
    dropped += rows;
    metrics.requestLogDropped(rows);
  };
  const rows = new BufferedWriter<RequestLogRow>({
    async write(batch) {
      const refused = await write(batch);
      metrics.requestLogWritten(batch.length - refused);
      if (refused > 0) drop(refused);
    },
    bounds,
    onDropped: (_reason, size) => drop(size),
    log,
    messages: {
      failing: 'the request log cannot be written now: its rows wait',
      recovered: 'the request log is written again',
      full: 'the request log cannot be written: its newest rows are dropped',
      lost: 'rows of the request log are lost: the time to stop is over',
    },
  });
  metrics.watchRequestLog(
    () => rows.waiting(),
    () => rows.stalledMs(),
  );
  return {
    /** Adds a row, or drops it when too many wait. Never throws. */
    add: (row: RequestLogRow) =>
      rows.add(
        row.metadata !== undefined && rows.waiting() > MOST_WITH_METADATA ? { ...row, metadata: undefined } : row,
      ),
    waiting: () => rows.waiting(),
    /** Rows that were never written, since the start of the process. */
    dropped: () => dropped,
    /** Writes the waiting rows, and ends. False: some were not written within this time, in ms. */
    close: (withinMs: number) => rows.close(withinMs),
  };
}
