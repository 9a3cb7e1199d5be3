import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { StoreMetrics } from '../../telemetry/store-metrics.ts';

/** Rows of one deletion. Responses are large: more would occupy the disk that charges need. */
const ROWS_AT_ONCE = 200;
const BETWEEN_MS = 50;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;

export interface ExpiryOptions {
  readonly store: Pick<IdempotencyStore, 'deleteOlderThan' | 'tidyStored'>;
  readonly retentionMs: () => number;
  /** Most bytes of stored responses that one organization may have. */
  readonly boundBytes: () => number;
  readonly metrics: Pick<StoreMetrics, 'storedResponsesEvicted' | 'responseBytesStored'>;
  readonly log: Log;
}

/** Deletes expired keys and responses, and corrects sums of bytes. Returns a function to stop. */
export function keepDeletingExpired({ store, retentionMs, boundBytes, metrics, log }: ExpiryOptions): () => void {
  const usualPauseMs = () => Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, retentionMs() / 10));
  return keepDoing(
    (hasMore) => (hasMore ? BETWEEN_MS : usualPauseMs()),
    async () => {
      const deleted = await store.deleteOlderThan(retentionMs(), ROWS_AT_ONCE);
      const { changed, evicted, storedBytes } = await store.tidyStored(boundBytes(), ROWS_AT_ONCE);
      metrics.storedResponsesEvicted(evicted);
      metrics.responseBytesStored(storedBytes);
      return deleted >= ROWS_AT_ONCE || changed >= ROWS_AT_ONCE;
    },
    (error) => log.warn({ err: error }, 'old idempotency keys could not be deleted yet'),
  );
}
