import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeadlineTimer, type HasDeadline } from './deadline-timer.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

class Call implements HasDeadline {
  endsByMs = Number.POSITIVE_INFINITY;
  expiredAtMs: number | undefined;
  readonly #limits: DeadlineTimer;

  constructor(limits: DeadlineTimer) {
    this.#limits = limits;
  }

  endBy(atMs: number): void {
    this.#limits.watch(this);
    this.endsByMs = atMs;
    this.#limits.lookBy(atMs);
  }

  end(): void {
    this.endsByMs = Number.POSITIVE_INFINITY;
    this.#limits.forget(this);
  }

  expire(): void {
    this.expiredAtMs = performance.now();
    this.#limits.forget(this);
  }
}

const step = fc.record({
  afterMs: fc.nat({ max: 50 }),
  which: fc.nat({ max: 5 }),
  /** How long it has got from now on; none: it is over. */
  limitMs: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
});

test('each call ends at its latest deadline, and no other call does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const limits = new DeadlineTimer();
      const calls = Array.from({ length: 6 }, () => new Call(limits));
      for (const { afterMs, which, limitMs } of steps) {
        vi.advanceTimersByTime(afterMs);
        const call = calls[which];
        if (call === undefined || call.expiredAtMs !== undefined) continue;
        if (limitMs === undefined) call.end();
        else call.endBy(performance.now() + limitMs);
      }
      vi.advanceTimersByTime(1000);
      for (const { endsByMs, expiredAtMs } of calls) {
        expect(expiredAtMs).toBe(endsByMs === Number.POSITIVE_INFINITY ? undefined : endsByMs);
      }
      limits.close();
    }),
    { numRuns: 300 },
  );
});
