import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';

export interface Background {
  /** Stops the work. Resolves when the run in progress and `finish` are done. */
  close(): Promise<void>;
}

/** Repeats work until it is closed. A failure is logged once, until the work succeeds again. */
export function repeat(
  everyMs: number,
  log: Log,
  failure: string,
  work: () => Promise<unknown>,
  finish: () => Promise<void> = async () => undefined,
): Background {
  const ending = new AbortController();
  let failing = false;
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      try {
        await work();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, failure);
        failing = true;
      }
      await sleep(everyMs, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    async close() {
      ending.abort();
      await running;
      await finish();
    },
  };
}
