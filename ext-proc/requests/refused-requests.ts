import { MINUTE_MS } from '#core/clock.ts';
import { type Refusal, refuse } from '#core/errors/refusal.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import { secondsUntil } from './seconds-until.ts';

/**
 * The limit `limits.refused_rpm`. Refused requests cost their sender nothing, so an organization
 * that has had this many in a UTC minute gets all further requests refused. A revoked or expired
 * key has a count of its own.
 *
 * The limit store adds up the counts of all gateway processes, but no request waits for it: a
 * process counts, reports to the store afterwards, and learns the counts of the others from the
 * reply. So a process exceeds the limit by the requests that it refuses during one such call. While
 * Redis is unavailable each process has the whole limit for itself. One process alone is exact.
 */
export interface RefusedRequests {
  /** Counts a refused request. Returns another refusal to send if the limit is used up. */
  take(id: string, limit: number, nowMs: number): Refusal | undefined;
  /** Like take(), but without counting. */
  check(id: string, limit: number, nowMs: number): Refusal | undefined;
}

/**
 * Statuses that count, 408 of uploads among them. A request that ends with 409 or 429 may be well
 * formed, and 5xx is no fault of the caller.
 */
export const COUNTED_STATUSES: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 408, 413, 422]);

/** Most organizations and keys with refusals in a minute. Beyond it the oldest are dropped. */
const MOST_WINDOWS = 10_000;

interface Window {
  endsAtMs: number;
  /** Counted by this process. */
  own: number;
  /** Part of `own` that is reported to the store. */
  reported: number;
  isReporting: boolean;
  /** Counted by other processes, as far as the store has replied. */
  elsewhere: number;
}

export function createRefusedRequests(
  store: Pick<LimitStore, 'countRefused'>,
  mostWindows = MOST_WINDOWS,
): RefusedRequests {
  const windows = new Map<string, Window>();

  function currentWindow(id: string, nowMs: number): Window | undefined {
    const window = windows.get(id);
    // If the clock was set back, the count begins again.
    const isCurrent = window !== undefined && nowMs < window.endsAtMs && window.endsAtMs - nowMs <= 2 * MINUTE_MS;
    return isCurrent ? window : undefined;
  }

  function newWindow(id: string, nowMs: number): Window {
    const endsAtMs = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
    const window = { endsAtMs, own: 0, reported: 0, isReporting: false, elsewhere: 0 };
    windows.delete(id);
    windows.set(id, window);
    if (windows.size > mostWindows) forget(nowMs);
    return window;
  }

  /** Drops windows that are over, or the oldest one if there are too many still. */
  function forget(nowMs: number): void {
    for (const [id, { endsAtMs }] of windows) if (endsAtMs <= nowMs) windows.delete(id);
    const [oldest] = windows.keys();
    if (windows.size > mostWindows && oldest !== undefined) windows.delete(oldest);
  }

  function refuseBeyond(window: Window | undefined, limit: number, nowMs: number): Refusal | undefined {
    if (window === undefined || window.own + window.elsewhere < limit) return undefined;
    const retryAfterSeconds = secondsUntil(window.endsAtMs, nowMs);
    return refuse('rpm_exceeded', { problem: 'Too many refused requests in this minute.' }, { retryAfterSeconds });
  }

  /** Makes one call at a time. Requests that are refused meanwhile are reported by the next. */
  async function report(id: string, window: Window, nowMs: number): Promise<void> {
    window.isReporting = true;
    const requests = window.own - window.reported;
    window.reported = window.own;
    try {
      const { refused, resetsAtMs } = await store.countRefused(id, requests, nowMs);
      learn(window, { refused, resetsAtMs, requests });
    } catch {
      // The store is unavailable: the count of this process still limits.
    } finally {
      window.isReporting = false;
      if (window.own > window.reported && windows.get(id) === window) void report(id, window, nowMs);
    }
  }

  return {
    check: (id, limit, nowMs) => refuseBeyond(currentWindow(id, nowMs), limit, nowMs),
    take(id, limit, nowMs) {
      const window = currentWindow(id, nowMs) ?? newWindow(id, nowMs);
      const beyond = refuseBeyond(window, limit, nowMs);
      if (beyond) return beyond;
      window.own += 1;
      if (!window.isReporting) void report(id, window, nowMs);
      return undefined;
    },
  };
}

interface Reported {
  /** Sum of all processes in the minute of the store. */
  readonly refused: number;
  readonly resetsAtMs: number;
  /** Requests that this report added. */
  readonly requests: number;
}

/** Follows the minutes of the store's clock, which may be ahead of this process or behind it. */
function learn(window: Window, { refused, resetsAtMs, requests }: Reported): void {
  const aheadMs = resetsAtMs - window.endsAtMs;
  if (aheadMs < -MINUTE_MS / 2) return;
  if (aheadMs > MINUTE_MS / 2) {
    window.own = window.own - window.reported + requests;
    window.reported = requests;
    window.elsewhere = 0;
  }
  window.endsAtMs = resetsAtMs;
  window.elsewhere = Math.max(window.elsewhere, refused - window.reported);
}
