/** A provider's `Retry-After`, in seconds or as a date. `undefined`: none, or unreadable. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === '') return undefined;
  if (/^\d{1,9}(\.\d{1,9})?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

const BASE_MS = 100;
const LONGEST_MS = 2000;

/** How long to wait before asking the same target again; half of it is chance, so that many requests do not return as one. */
export function backoffMs(
  failedAttempts: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const growing = Math.min(LONGEST_MS, BASE_MS * 2 ** (failedAttempts - 1));
  const waitMs = growing * (0.5 + random() / 2);
  return Math.min(LONGEST_MS, Math.max(waitMs, retryAfterMs ?? 0));
}

/** A provider that asks for more than this is not worth waiting for while there is another. */
export function asksForLongPause(retryAfterMs: number | undefined): boolean {
  return retryAfterMs !== undefined && retryAfterMs > LONGEST_MS;
}
