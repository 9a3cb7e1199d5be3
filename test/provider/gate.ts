import { PATIENCE_MS } from '../fixtures/patience.ts';
import type { Act } from './call.ts';

/** Holds requests until the test opens it: "60 at once, held until all are decided". */
export interface Gate {
  /** How many requests stand before it, or went through. */
  arrived(): number;
  /** Resolves when `count` requests have arrived. Rejects after `timeoutMs`. */
  waitFor(count: number, timeoutMs?: number): Promise<void>;
  open(): void;
  /** Arrives, and resolves when it is open. */
  pass(): Promise<void>;
  /** An act that waits for the gate, then goes on. */
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
