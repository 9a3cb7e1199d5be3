/** How long to wait before a process that died is started again: the first time at once, so that one crash is hardly noticed. */
export const FIRST_DELAY_MS = 200;
export const LONGEST_DELAY_MS = 5_000;
/** A process that was up this long has recovered: its next death counts as the first. */
export const RECOVERED_AFTER_MS = 30_000;

export interface BackOff {
  /** `upMs`: how long the process that just died had been up; 0 when it did not come up. */
  nextDelayMs(upMs: number): number;
}

export function createBackOff(longestDelayMs: number = LONGEST_DELAY_MS): BackOff {
  let deaths = 0;
  return {
    nextDelayMs(upMs) {
      if (upMs >= RECOVERED_AFTER_MS) deaths = 0;
      deaths += 1;
      if (deaths === 1) return 0;
      // The exponent is bounded, so that it stays a number however often a process dies.
      return Math.min(longestDelayMs, FIRST_DELAY_MS * 2 ** Math.min(deaths - 2, 10));
    },
  };
}
