import { MINUTE_MS } from '../../core/clock.ts';
import { type Refusal, refuse } from '../../core/errors/refusal.ts';
import type { LimitStore } from '../limits/limit-store.ts';

/**
 * `limits.refused_rpm`: requests that are refused before a provider is asked cost their sender
 * nothing, so that each organization has so many in a UTC minute, and is not heard beyond. A key
 * that is revoked or expired has a count of its own.
 *
 * The count is of all gateway processes, but no request waits for it: it is raised after a refusal,
 * and what the store says then is added to what is counted here. So each of several processes
 * refuses beyond the limit at most what comes to it during one such call, and the whole limit while
 * Redis is away; one process alone is exact.
 */
export interface RefusedRequests {
  /**
   * Counts one for an organization or a key. A refusal: its limit is used up, and that is the
   * answer instead.
   */
  take(id: string, limit: number, nowMs: number): Refusal | undefined;
  /** As take(), without counting. */
  check(id: string, limit: number, nowMs: number): Refusal | undefined;
}

/**
 * By status, what counts: 408, 409 and 429 are of requests that may be well-formed, and of 5xx
 * nobody is to blame who asks.
 */
export const COUNTED_STATUSES: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 413, 422]);

/**
 * Organizations and keys with refused requests in this minute, at most. Beyond it the oldest are
 * forgotten.
 */
const MOST_WINDOWS = 10_000;

interface Window {
  endsAtMs: number;
  /** Counted here. */
  own: number;
  /** Part of `own` that the store has counted. */
  told: number;
  isTelling: boolean;
  /** By other processes, as far as the store has said. */
  elsewhere: number;
}

export function createRefusedRequests(
  store: Pick<LimitStore, 'countRefused'>,
  mostWindows = MOST_WINDOWS,
): RefusedRequests {
  const windows = new Map<string, Window>();

  function currentWindow(id: string, nowMs: number): Window | undefined {
    const window = windows.get(id);
    // A clock that was set back starts over.
    const isCurrent = window !== undefined && nowMs < window.endsAtMs && window.endsAtMs - nowMs <= 2 * MINUTE_MS;
    return isCurrent ? window : undefined;
  }

  function newWindow(id: string, nowMs: number): Window {
    const endsAtMs = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
    const window = { endsAtMs, own: 0, told: 0, isTelling: false, elsewhere: 0 };
    windows.delete(id);
    windows.set(id, window);
    if (windows.size > mostWindows) forget(nowMs);
    return window;
  }

  /** All that are over; and if there are none, the eldest. */
  function forget(nowMs: number): void {
    for (const [id, { endsAtMs }] of windows) if (endsAtMs <= nowMs) windows.delete(id);
    const [eldest] = windows.keys();
    if (windows.size > mostWindows && eldest !== undefined) windows.delete(eldest);
  }

  function refuseBeyond(window: Window | undefined, limit: number, nowMs: number): Refusal | undefined {
    if (window === undefined || window.own + window.elsewhere < limit) return undefined;
    const retryAfterSeconds = Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000));
    return refuse('rpm_exceeded', { problem: 'Too many refused requests in this minute.' }, { retryAfterSeconds });
  }

  /** One call at a time: what is refused meanwhile goes with the next. */
  async function tell(id: string, window: Window, nowMs: number): Promise<void> {
    window.isTelling = true;
    const requests = window.own - window.told;
    window.told = window.own;
    try {
      const { refused, resetsAtMs } = await store.countRefused(id, requests, nowMs);
      learn(window, { refused, resetsAtMs, requests });
    } catch {
      // The store is away: what is counted here still limits.
    } finally {
      window.isTelling = false;
      if (window.own > window.told && windows.get(id) === window) void tell(id, window, nowMs);
    }
  }

  return {
    check: (id, limit, nowMs) => refuseBeyond(currentWindow(id, nowMs), limit, nowMs),
    take(id, limit, nowMs) {
      const window = currentWindow(id, nowMs) ?? newWindow(id, nowMs);
      const beyond = refuseBeyond(window, limit, nowMs);
      if (beyond) return beyond;
      window.own += 1;
      if (!window.isTelling) void tell(id, window, nowMs);
      return undefined;
    },
  };
}

interface Told {
  readonly refused: number;
  readonly resetsAtMs: number;
  readonly requests: number;
}

/** Minutes are those of the store's clock, which may be ahead of this process's or behind it. */
function learn(window: Window, { refused, resetsAtMs, requests }: Told): void {
  const aheadMs = resetsAtMs - window.endsAtMs;
  if (aheadMs < -MINUTE_MS / 2) return;
  if (aheadMs > MINUTE_MS / 2) {
    window.own = window.own - window.told + requests;
    window.told = requests;
    window.elsewhere = 0;
  }
  window.endsAtMs = resetsAtMs;
  window.elsewhere = Math.max(window.elsewhere, refused - window.told);
}
