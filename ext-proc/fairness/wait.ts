import { DeadlineTimer } from './deadline-timer.ts';

/** Timer of all waits, instead of one per request. */
const limits = new DeadlineTimer();

/** Waits for a promise until the delay or the signal. True: it settled. A rejection passes. */
export function settlesWithin(promise: Promise<unknown>, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const end = () => {
      limits.forget(wait);
      signal?.removeEventListener('abort', tooLate);
    };
    const tooLate = () => {
      end();
      resolve(false);
    };
    const wait = { endsByMs: performance.now() + delayMs, expire: tooLate };
    limits.watch(wait);
    limits.lookBy(wait.endsByMs);
    signal?.addEventListener('abort', tooLate, { once: true });
    if (signal?.aborted) tooLate();
    promise.then(
      () => {
        end();
        resolve(true);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

/** Sleeps, or less when a signal aborts. */
export function pause(delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    for (const signal of signals) signal.addEventListener('abort', done, { once: true });
    if (signals.some((signal) => signal.aborted)) done();
  });
}
