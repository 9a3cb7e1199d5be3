import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '#core/clock.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import { openCheckpointKey } from '#database/checkpoints/checkpoint-key.ts';
import type { CheckpointStore } from '#database/checkpoints/checkpoints.ts';

/** Mean pause. It is random, so that of processes that start together only one writes. */
const LOOK_EVERY_MS = 5 * MINUTE_MS;

/** Writes signed checkpoints of the ledger every hour. Returns a function that stops this. */
export function openCheckpointWriter(
  store: Pick<CheckpointStore, 'write'>,
  paths: Pick<RuntimePaths, 'chargeLogDir'>,
  log: Pick<Log, 'warn'>,
  lookEveryMs = LOOK_EVERY_MS,
): () => void {
  const stop = new AbortController();
  const keep = async () => {
    while (!stop.signal.aborted) {
      const delayMs = lookEveryMs * (0.5 + Math.random());
      await sleep(delayMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
      if (stop.signal.aborted) return;
      try {
        const privateKey = await openCheckpointKey(paths);
        await store.write({ privateKey, everyMs: 60 * MINUTE_MS });
      } catch (error) {
        log.warn({ err: error }, 'checkpoints of the ledger could not be written; the next try is in minutes');
      }
    }
  };
  void keep();
  return () => stop.abort();
}
