import { MINUTE_MS } from '#core/clock.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';
import { openCheckpointKey } from '#database/checkpoints/checkpoint-key.ts';
import type { CheckpointRun } from '#database/checkpoints/checkpoints.ts';

/** Mean pause. It is random, so that of processes that start together only one writes. */
const LOOK_EVERY_MS = 5 * MINUTE_MS;

/** Writes signed checkpoints of the ledger every hour. Returns a function that stops this. */
export function openCheckpointWriter(
  writeCheckpoints: (run: CheckpointRun) => Promise<number>,
  paths: Pick<RuntimePaths, 'chargeLogDir'>,
  log: Pick<Log, 'warn'>,
  lookEveryMs = LOOK_EVERY_MS,
): () => void {
  return keepDoing(
    () => lookEveryMs * (0.5 + Math.random()),
    async () => writeCheckpoints({ privateKey: await openCheckpointKey(paths), everyMs: 60 * MINUTE_MS }),
    (error) => log.warn({ err: error }, 'checkpoints of the ledger could not be written; the next try is in minutes'),
    'after a pause',
  );
}
