/** Growth of the delays between attempts. */
export interface BackOffOptions {
  /** Delay after the first failure, in ms. Each further failure in a row doubles it. */
  readonly firstMs: number;
  readonly longestMs: number;
  /**
   * Share of the delay that is random, from 0 to 1, so that callers that failed together do not
   * return together.
   */
  readonly jitter?: number;
}

/** After this many doublings every delay is the longest. The bound keeps the product finite. */
const MOST_DOUBLINGS = 30;

/**
 * The delay before the next attempt, in ms. `failures` in a row count from 1. A jitter only
 * shortens the delay.
 */
export function backOffMs(
  failures: number,
  { firstMs, longestMs, jitter = 0 }: BackOffOptions,
  random: () => number = Math.random,
): number {
  const delayMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS));
  return jitter === 0 ? delayMs : delayMs * (1 - jitter * (1 - random()));
}
