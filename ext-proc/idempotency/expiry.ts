import { setTimeout as sleep } from 'node:timers/promises';
import type { IdempotencyStore } from '../stores/idempotency-store.ts';
import type { Log } from '../telemetry/log.ts';

/** Answers are large: deleting a few at a time keeps the statement short and the disk free for charges. */
const ROWS_AT_ONCE = 200;
const BETWEEN_MS = 50;
const LONGEST_PAUSE_MS = 60_000;
const SHORTEST_PAUSE_MS = 1_000;

/** Deletes keys and answers at their retention, for as long as the process lives. Returns how to stop. */
export function keepDeletingExpired(store: IdempotencyStore, retentionMs: () => number, log: Log): () => void {
  const stop = new AbortController();
  void deleteUntil(stop.signal, store, retentionMs, log);
  return () => stop.abort();
}

async function deleteUntil(
  stop: AbortSignal,
  store: IdempotencyStore,
  retentionMs: () => number,
  log: Log,
): Promise<void> {
  while (!stop.aborted) {
    let deleted = 0;
    try {
      deleted = await store.deleteOlderThan(retentionMs(), ROWS_AT_ONCE);
    } catch (error) {
      log.warn({ err: error }, 'old idempotency keys could not be deleted yet');
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, retentionMs() / 10));
    const delayMs = deleted === ROWS_AT_ONCE ? BETWEEN_MS : pauseMs;
    await sleep(delayMs, undefined, { signal: stop, ref: false }).catch(() => undefined);
  }
}
