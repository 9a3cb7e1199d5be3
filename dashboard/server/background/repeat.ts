import type { Log } from '#core/log/log.ts';
import { keepDoing } from '#core/retry/keep-doing.ts';

export interface Background {
  /** Stops the work. Resolves when the run in progress is done. */
  close(): Promise<void>;
}

/** Repeats work until it is closed. A failure is logged once, until the work succeeds again. */
export function repeat(everyMs: number, log: Log, failure: string, work: () => Promise<unknown>): Background {
  let isFailing = false;
  const close = keepDoing(
    everyMs,
    async () => {
      await work();
      isFailing = false;
    },
    (error) => {
      if (!isFailing) log.warn({ err: error }, failure);
      isFailing = true;
    },
  );
  return { close };
}
