import { StoreUnavailable } from '../store-unavailable.ts';

export interface JoinedCallBounds {
  readonly maxBatch: number;
  readonly maxInFlight: number;
  /**
   * Shortest time from one batch to the next, in ms. A call after a pause is sent at once; calls in
   * a row wait this long for others to join.
   */
  readonly paceMs: number;
  /**
   * Makes the pace grow with the batch before: by `perItemMs` for each item after the first. More
   * than one call in `perItemMs` lengthens the pace until it is `longestPaceMs`.
   */
  readonly growingPace?: { readonly perItemMs: number; readonly longestPaceMs: number };
  /** Items above this number are refused at once. */
  readonly maxWaiting: number;
  /**
   * Longest wait of an item until it is sent, in ms. Absent: as long as the calls before it take.
   */
  readonly waitMs?: number;
}

export type Outcome<R> = { readonly ok: true; readonly value: R } | { readonly ok: false; readonly error: unknown };

/** One batch, for metrics. */
export interface BatchFigures {
  readonly items: number;
  /** Wait of its first item until it was sent, in ms. */
  readonly waitedMs: number;
  readonly tookMs: number;
  /** No item of it succeeded. */
  readonly failed: boolean;
}

/** Called when an item is sent, with the number of items in its batch. */
export type OnSent = (items: number) => void;

export interface JoinedCallOptions<T, R> {
  /** Names the store in errors. */
  readonly store: string;
  readonly bounds: JoinedCallBounds;
  /** One outcome for each item, in their order. A rejection is the outcome of all of them. */
  readonly runBatch: (items: readonly T[]) => Promise<readonly Outcome<R>[]>;
  readonly onBatch?: (figures: BatchFigures) => void;
  /** Called when no item waits and no batch is in flight. */
  readonly onIdle?: () => void;
}

/**
 * Resolves to the value of the item's outcome. Rejects with its error, or with `StoreUnavailable`
 * if it was not sent.
 */
export type JoinedCall<T, R> = (item: T, onSent?: OnSent) => Promise<R>;

interface Waiting<T, R> {
  readonly item: T;
  readonly onSent: OnSent | undefined;
  readonly sinceMs: number;
  readonly resolve: (value: R) => void;
  readonly reject: (error: unknown) => void;
}

function paceAfter(items: number, { paceMs, growingPace }: JoinedCallBounds): number {
  if (growingPace === undefined) return paceMs;
  return Math.min(paceMs + (items - 1) * growingPace.perItemMs, growingPace.longestPaceMs);
}

/**
 * Lets calls share one round trip: items of the same event-loop turn go together, and what arrives
 * while `maxInFlight` batches are in flight goes with the next. An item only joins a batch that has
 * not been sent, so its outcome is never older than its call.
 */
export function createJoinedCalls<T, R>(options: JoinedCallOptions<T, R>): JoinedCall<T, R> {
  const { store, bounds, runBatch, onBatch, onIdle } = options;
  let waiting: Waiting<T, R>[] = [];
  let inFlight = 0;
  let scheduled = false;
  let lastSentMs = Number.NEGATIVE_INFINITY;
  let { paceMs } = bounds;
  let expiring = false;

  function add(item: T, onSent?: OnSent): Promise<R> {
    if (waiting.length >= bounds.maxWaiting) {
      return Promise.reject(new StoreUnavailable(`${store}: too many calls are waiting`));
    }
    return new Promise((resolve, reject) => {
      waiting.push({ item, onSent, sinceMs: performance.now(), resolve, reject });
      schedule();
    });
  }

  function schedule(): void {
    if (waiting.length === 0) return;
    if (inFlight >= bounds.maxInFlight) {
      // One timer for the oldest is enough: items leave in order, and all may wait equally long.
      if (!expiring && bounds.waitMs !== undefined) expireIn(bounds.waitMs);
    } else if (!scheduled) {
      scheduled = true;
      const restMs = lastSentMs + paceMs - performance.now();
      if (restMs > 0) setTimeout(send, restMs);
      // After the poll phase all requests whose bytes arrived in this turn have called.
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
      const outcomes = await runBatch(batch.map((waiter) => waiter.item));
      batch.forEach((waiter, index) => {
        const outcome = outcomes[index] ?? {
          ok: false,
          error: new Error(`${store}: a batch has fewer outcomes than items`),
        };
        if (outcome.ok) {
          failed = false;
          waiter.resolve(outcome.value);
        } else waiter.reject(outcome.error);
      });
    } catch (error) {
      for (const waiter of batch) waiter.reject(error);
    } finally {
      inFlight--;
      schedule();
      const waitedMs = sentMs - (batch[0]?.sinceMs ?? sentMs);
      onBatch?.({ items: batch.length, waitedMs, tookMs: performance.now() - sentMs, failed });
      if (inFlight === 0 && waiting.length === 0) onIdle?.();
    }
  }

  function expireIn(ms: number): void {
    expiring = true;
    setTimeout(refuseExpired, Math.max(1, ms)).unref();
  }

  function refuseExpired(): void {
    expiring = false;
    const { waitMs = Number.POSITIVE_INFINITY } = bounds;
    const nowMs = performance.now();
    const firstFresh = waiting.findIndex((waiter) => nowMs - waiter.sinceMs < waitMs);
    const expired = waiting.splice(0, firstFresh === -1 ? waiting.length : firstFresh);
    for (const waiter of expired) waiter.reject(new StoreUnavailable(`${store} did not take the call in time`));
    const [oldest] = waiting;
    if (oldest && inFlight >= bounds.maxInFlight) expireIn(waitMs - (nowMs - oldest.sinceMs));
  }

  return add;
}

/**
 * Joins the calls of each lane by themselves: lanes do not wait for each other. An idle lane is
 * forgotten.
 */
export function createLanesOfCalls<T, R>(
  options: Omit<JoinedCallOptions<T, R>, 'onIdle'>,
): (lane: string, item: T) => Promise<R> {
  const lanes = new Map<string, JoinedCall<T, R>>();
  return (lane, item) => {
    let call = lanes.get(lane);
    if (call === undefined) {
      call = createJoinedCalls({ ...options, onIdle: () => lanes.delete(lane) });
      lanes.set(lane, call);
    }
    return call(item);
  };
}
