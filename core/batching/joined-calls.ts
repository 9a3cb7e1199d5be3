import { StoreUnavailable } from '../store-unavailable.ts';

export interface JoinedCallBounds {
  readonly maxBatch: number;
  readonly maxInFlight: number;
  /**
   * Shortest time from one batch to the next, in ms. A call after a pause is sent at once. Calls in
   * a row wait this long for others to join.
   */
  readonly paceMs: number;
  /**
   * Lengthens the pace by `perItemMs` for each item of the previous batch after the first. More
   * than one call in `perItemMs` lengthens the pace until it is `longestPaceMs`.
   */
  readonly growingPace?: { readonly perItemMs: number; readonly longestPaceMs: number };
  /** Items above this number are refused at once. */
  readonly maxWaiting: number;
  /** An item that has waited this long, in ms, is refused. Absent: it waits without bound. */
  readonly waitMs?: number;
}

export type Outcome<R> = { readonly ok: true; readonly value: R } | { readonly ok: false; readonly error: unknown };

/** One batch, for metrics. */
export interface BatchFigures {
  readonly items: number;
  /** Time that the first item waited until the batch was sent, in ms. */
  readonly waitedMs: number;
  readonly tookMs: number;
  /** True if no item succeeded. */
  readonly failed: boolean;
}

export interface JoinedCallOptions<T, R> {
  /** Names the store in errors. */
  readonly store: string;
  readonly bounds: JoinedCallBounds;
  /** Resolves with the outcome of each item, in order. A rejection is the outcome of all items. */
  readonly runBatch: (items: readonly T[]) => Promise<readonly Outcome<R>[]>;
  readonly onBatch?: (figures: BatchFigures) => void;
  /**
   * True: the item is sent in the next microtask instead of at the end of the turn, together with
   * all items that wait. One batch more than `maxInFlight` may be in flight for it.
   */
  readonly isUrgent?: (item: T) => boolean;
  /** Called when no item waits and no batch is in flight. */
  readonly onIdle?: () => void;
}

/** Resolves to the outcome's value, or rejects: with its error, or StoreUnavailable if not sent. */
export type JoinedCall<T, R> = (item: T) => Promise<R>;

interface Waiting<T, R> {
  readonly item: T;
  readonly sinceMs: number;
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
}

function paceAfter(items: number, { paceMs, growingPace }: JoinedCallBounds): number {
  if (growingPace === undefined) return paceMs;
  return Math.min(paceMs + (items - 1) * growingPace.perItemMs, growingPace.longestPaceMs);
}

/**
 * Lets calls share one round trip: items of the same event-loop turn are sent together, and items
 * that arrive while `maxInFlight` batches are in flight are sent with the next. An item only joins
 * a batch that has not been sent, so its outcome is never older than its call.
 */
class JoinedCalls<T, R> {
  readonly #options: JoinedCallOptions<T, R>;
  #waiting: Waiting<T, R>[] = [];
  #inFlight = 0;
  /** True while a call of `#send` is scheduled. */
  #scheduled = false;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #paceMs: number;
  /** True while a timer is set that refuses items that have waited too long. */
  #expiring = false;
  /** True while an urgent item waits. */
  #urgentWaits = false;

  constructor(options: JoinedCallOptions<T, R>) {
    this.#options = options;
    this.#paceMs = options.bounds.paceMs;
  }

  add(item: T): Promise<R> {
    const { store, bounds, isUrgent } = this.#options;
    if (this.#waiting.length >= bounds.maxWaiting) {
      return Promise.reject(new StoreUnavailable(`${store}: too many calls are waiting`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, sinceMs: performance.now(), resolve, reject });
      if (isUrgent?.(item)) {
        this.#urgentWaits = true;
        queueMicrotask(this.#send);
      } else this.#schedule();
    });
  }

  #isFull(): boolean {
    return this.#inFlight >= this.#options.bounds.maxInFlight + (this.#urgentWaits ? 1 : 0);
  }

  #schedule(): void {
    const { waitMs } = this.#options.bounds;
    if (this.#waiting.length === 0) return;
    if (this.#isFull()) {
      // One timer for the oldest is enough: items leave in order, and all may wait equally long.
      if (!this.#expiring && waitMs !== undefined) this.#expireIn(waitMs);
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      const restMs = this.#lastSentMs + this.#paceMs - performance.now();
      if (restMs > 0) setTimeout(this.#send, restMs);
      // Runs after the poll phase, when all requests whose bytes arrived in this turn have called.
      else setImmediate(this.#send);
    }
  }

  readonly #send = (): void => {
    const { bounds } = this.#options;
    this.#scheduled = false;
    while (this.#waiting.length > 0 && !this.#isFull()) {
      const batch = this.#waiting.slice(0, bounds.maxBatch);
      this.#waiting = this.#waiting.slice(bounds.maxBatch);
      this.#inFlight++;
      this.#lastSentMs = performance.now();
      this.#paceMs = paceAfter(batch.length, bounds);
      void this.#deliver(batch, this.#lastSentMs);
    }
    this.#urgentWaits &&= this.#waiting.length > 0;
    this.#schedule();
  };

  async #deliver(batch: readonly Waiting<T, R>[], sentMs: number): Promise<void> {
    const { runBatch, onBatch, onIdle } = this.#options;
    let failed = true;
    try {
      failed = !this.#settle(batch, await runBatch(batch.map((waiter) => waiter.item)));
    } catch (error) {
      for (const waiter of batch) waiter.reject(error);
    }
    this.#inFlight--;
    this.#schedule();
    const waitedMs = sentMs - (batch[0]?.sinceMs ?? sentMs);
    onBatch?.({ items: batch.length, waitedMs, tookMs: performance.now() - sentMs, failed });
    if (this.#inFlight === 0 && this.#waiting.length === 0) onIdle?.();
  }

  /** Gives each item its outcome. True: an item succeeded. */
  #settle(batch: readonly Waiting<T, R>[], outcomes: readonly Outcome<R>[]): boolean {
    let succeeded = false;
    batch.forEach((waiter, index) => {
      const outcome = outcomes[index];
      if (outcome?.ok) {
        succeeded = true;
        waiter.resolve(outcome.value);
      } else if (outcome) waiter.reject(outcome.error);
      else waiter.reject(new Error(`${this.#options.store}: a batch has fewer outcomes than items`));
    });
    return succeeded;
  }

  #expireIn(ms: number): void {
    this.#expiring = true;
    setTimeout(() => this.#refuseExpired(), Math.max(1, ms)).unref();
  }

  #refuseExpired(): void {
    this.#expiring = false;
    const { store, bounds } = this.#options;
    const { waitMs = Number.POSITIVE_INFINITY } = bounds;
    const nowMs = performance.now();
    const firstFresh = this.#waiting.findIndex((waiter) => nowMs - waiter.sinceMs < waitMs);
    const expired = this.#waiting.splice(0, firstFresh === -1 ? this.#waiting.length : firstFresh);
    for (const waiter of expired) waiter.reject(new StoreUnavailable(`${store} did not take the call in time`));
    const [oldest] = this.#waiting;
    if (oldest && this.#isFull()) this.#expireIn(waitMs - (nowMs - oldest.sinceMs));
  }
}

export function createJoinedCalls<T, R>(options: JoinedCallOptions<T, R>): JoinedCall<T, R> {
  const calls = new JoinedCalls(options);
  return (item) => calls.add(item);
}

/** Joins the calls of each lane separately, without waits among lanes. Drops idle lanes. */
export function createLanesOfCalls<T, R>(
  options: Omit<JoinedCallOptions<T, R>, 'onIdle'>,
): (lane: string, item: T) => Promise<R> {
  const lanes = new Map<string, JoinedCalls<T, R>>();
  return (lane, item) => {
    let calls = lanes.get(lane);
    if (calls === undefined) {
      calls = new JoinedCalls({ ...options, onIdle: () => lanes.delete(lane) });
      lanes.set(lane, calls);
    }
    return calls.add(item);
  };
}
