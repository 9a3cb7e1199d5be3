import { backOffMs } from '#core/retry/back-off.ts';
import type { ProviderHead } from './provider-call.ts';

/**
 * A provider's `Retry-After`, in seconds or as a date. `undefined`: none, or unreadable. A date is
 * compared with the `Date` of the same response, because the provider's clock may differ from ours.
 */
export function parseRetryAfterMs({ header }: Pick<ProviderHead, 'header'>, nowMs: number): number | undefined {
  const value = header('retry-after') ?? '';
  if (/^\d{1,9}(\.\d{1,9})?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const [atMs, saidAtMs] = [Date.parse(value), Date.parse(header('date') ?? '')];
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - (Number.isNaN(saidAtMs) ? nowMs : saidAtMs));
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
