import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { Act } from './call.ts';

/**
 * Holds requests until the test opens it, for instance until 60 concurrent ones have been admitted
 * or refused.
 */
export interface Gate {
  /** Number of requests that wait at the gate or have passed it. */
  arrived(): number;
  /** Resolves when `count` requests have arrived. Rejects after `timeoutMs`. */
  waitFor(count: number, timeoutMs?: number): Promise<void>;
  open(): void;
  /** Counts as an arrival, and resolves when the gate is open. */
  pass(): Promise<void>;
  /** An act that passes the gate, then does `then`. */
  before(then: Act): Act;
}

export function createGate(): Gate {
  const opened = Promise.withResolvers<void>();
  let arrivals = 0;
  let waiters: Array<{ count: number; resolve: () => void }> = [];
  const pass = (): Promise<void> => {
    arrivals += 1;
    for (const waiter of waiters.filter(({ count }) => count <= arrivals)) waiter.resolve();
    waiters = waiters.filter(({ count }) => count > arrivals);
    return opened.promise;
  };
  return {
    arrived: () => arrivals,
    open: () => opened.resolve(),
    waitFor: (count, timeoutMs = PATIENCE_MS) =>
      new Promise((resolve, reject) => {
        if (arrivals >= count) return resolve();
        const timer = setTimeout(
          () => reject(new Error(`${arrivals} of ${count} requests arrived in ${timeoutMs} ms`)),
          timeoutMs,
        );
        waiters.push({
          count,
          resolve: () => {
            clearTimeout(timer);
            resolve();
          },
        });
      }),
    pass,
    before: (then) => async (call) => {
      await pass();
      await then(call);
    },
  };
}
