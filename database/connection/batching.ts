import { StoreUnavailable } from '../../core/store-unavailable.ts';
import type { OnLoss } from './losses.ts';
import type { BatchFigures, OnBatch, OnSent } from './store-figures.ts';

export interface BatchBounds {
  readonly maxBatch: number;
  readonly maxInFlight: number;
  /** Shortest time between two batches: a call after a pause goes at once, calls in a row wait this long for company. */
  readonly paceMs: number;
  /**
   * The company that a batch had makes the next one wait longer: so long for each item after its first, up to a most. More than one call in
   * `perItemMs` lengthen the time from batch to batch until it is that, fewer shorten it to `paceMs` again.
   */
  readonly company?: { readonly perItemMs: number; readonly mostPaceMs: number };
  /** More waiting items than this are refused at once. */
  readonly maxWaiting: number;
  /** An item that is not under way by then is refused. */
  readonly waitMs: number;
}

/** Of the batches that a process sends. */
export interface BatchOptions {
  /** Others use the database as well. */
  readonly severalProcesses?: boolean;
  readonly onBatch?: OnBatch;
  readonly onLoss?: OnLoss;
}

export type Outcome<R> = { readonly ok: true; readonly value: R } | { readonly ok: false; readonly error: unknown };

interface Waiting<T, R> {
  readonly item: T;
  readonly onSent: OnSent | undefined;
  readonly sinceMs: number;
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
}

function paceAfter(items: number, { paceMs, company }: BatchBounds): number {
  return company ? Math.min(paceMs + (items - 1) * company.perItemMs, company.mostPaceMs) : paceMs;
}

/**
 * Lets calls share one round trip: items of the same event-loop turn go together, and what arrives while `maxInFlight` batches are under
 * way goes with the next. An item only ever joins a batch that has not been sent, so its answer is never older than its call.
 */
export function createBatching<T, R>(
  bounds: BatchBounds,
  runBatch: (items: readonly T[]) => Promise<readonly Outcome<R>[]>,
  onBatch: (figures: Omit<BatchFigures, 'batch'>) => void = () => undefined,
): (item: T, onSent?: OnSent) => Promise<R> {
  let waiting: Waiting<T, R>[] = [];
  let inFlight = 0;
  let scheduled = false;
  let lastSentMs = Number.NEGATIVE_INFINITY;
  let { paceMs } = bounds;
  let expiring = false;

  function add(item: T, onSent?: OnSent): Promise<R> {
    if (waiting.length >= bounds.maxWaiting) return Promise.reject(new StoreUnavailable('too many calls are waiting'));
    return new Promise((resolve, reject) => {
      waiting.push({ item, onSent, sinceMs: performance.now(), resolve, reject });
      schedule();
    });
  }

  function schedule(): void {
    if (waiting.length === 0) return;
    if (inFlight >= bounds.maxInFlight) {
      // One timer for the oldest: the waiting room is first in, first out, and everybody's patience is the same.
      if (!expiring) expireIn(bounds.waitMs);
    } else if (!scheduled) {
      scheduled = true;
      const restMs = lastSentMs + paceMs - performance.now();
      if (restMs > 0) setTimeout(send, restMs);
      // After the poll phase: all requests whose bytes arrived in this turn have asked by then.
      else setImmediate(send);
    }
  }

  function send(): void {
    scheduled = false;
    while (inFlight < bounds.maxInFlight && waiting.length > 0) {
      const batch = waiting.slice(0, bounds.maxBatch);
      waiting = waiting.slice(bounds.maxBatch);
      inFlight++;
      lastSentMs = performance.now();
      paceMs = paceAfter(batch.length, bounds);
      void deliver(batch);
    }
    schedule();
  }

  async function deliver(batch: readonly Waiting<T, R>[]): Promise<void> {
    const sentMs = lastSentMs;
    for (const { onSent } of batch) onSent?.(batch.length);
    let failed = true;
    try {
      const outcomes = await runBatch(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => {
        const outcome = outcomes[index] ?? { ok: false, error: new Error('a batch answered fewer items than it has') };
        if (outcome.ok) {
          failed = false;
          entry.resolve(outcome.value);
        } else entry.reject(outcome.error);
      });
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    } finally {
      inFlight--;
      schedule();
      const waitedMs = sentMs - (batch[0]?.sinceMs ?? sentMs);
      onBatch({ items: batch.length, waitedMs, tookMs: performance.now() - sentMs, failed });
    }
  }

  function expireIn(ms: number): void {
    expiring = true;
    setTimeout(refuseExpired, Math.max(1, ms)).unref();
  }

  function refuseExpired(): void {
    expiring = false;
    const nowMs = performance.now();
    const firstFresh = waiting.findIndex((entry) => nowMs - entry.sinceMs < bounds.waitMs);
    const expired = waiting.splice(0, firstFresh === -1 ? waiting.length : firstFresh);
    for (const entry of expired) entry.reject(new StoreUnavailable('PostgreSQL did not take the call in time'));
    const [oldest] = waiting;
    if (oldest && inFlight >= bounds.maxInFlight) expireIn(bounds.waitMs - (nowMs - oldest.sinceMs));
  }

  return add;
}
