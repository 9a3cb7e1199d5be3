import { backOffMs } from '../core/retry/back-off.ts';

/** After the second death in a row: after the first a process is started at once, so that one crash is hardly noticed. */
export const FIRST_DELAY_MS = 200;
export const LONGEST_DELAY_MS = 5_000;
/** A process that was up this long has recovered: its next death counts as the first. */
export const RECOVERED_AFTER_MS = 30_000;

export interface BackOff {
  /** The delay before the next start. `upMs`: uptime of the process that just died; 0 when it did not come up. */
  nextDelayMs(upMs: number): number;
}

export function createBackOff(longestDelayMs: number = LONGEST_DELAY_MS): BackOff {
  let deaths = 0;
  return {
    nextDelayMs(upMs) {
      if (upMs >= RECOVERED_AFTER_MS) deaths = 0;
      deaths += 1;
      if (deaths === 1) return 0;
      return backOffMs(deaths - 1, { firstMs: FIRST_DELAY_MS, longestMs: longestDelayMs });
    },
  };
}
