/** Growth of the delays between attempts. */
export interface BackOffOptions {
  /** Delay after the first failure, in ms. Each further failure in a row doubles it. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Random share of the delay, 0 to 1: callers that failed together return separately. */
  readonly jitter?: number;
}

/** After this many doublings every delay is the longest. The bound keeps the product finite. */
const MOST_DOUBLINGS = 30;

/** Delay before the next attempt, in ms. `failures` in a row count from 1. Jitter shortens it. */
export function backOffMs(
  failures: number,
  { firstMs, longestMs, jitter = 0 }: BackOffOptions,
  random: () => number = Math.random,
): number {
  const delayMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS));
  return jitter === 0 ? delayMs : delayMs * (1 - jitter * (1 - random()));
}
