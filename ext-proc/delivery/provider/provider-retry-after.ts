import { backOffMs } from '#core/retry/back-off.ts';

/** A provider's `Retry-After`, in seconds or as a date. `undefined`: none, or unreadable. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,9}(\.\d{1,9})?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

const LONGEST_MS = 2000;
const BACK_OFF = { firstMs: 100, longestMs: LONGEST_MS, jitter: 0.5 };

/** Delay before a retry of a target: the back-off, or the provider's own if that is longer. */
export function retryDelayMs(failedAttempts: number, retryAfterMs: number | undefined, random?: () => number): number {
  return Math.min(LONGEST_MS, Math.max(backOffMs(failedAttempts, BACK_OFF, random), retryAfterMs ?? 0));
}

/** True if the provider asks for a pause that is too long while another target is left. */
export function asksForLongPause(retryAfterMs: number | undefined): boolean {
  return retryAfterMs !== undefined && retryAfterMs > LONGEST_MS;
}
