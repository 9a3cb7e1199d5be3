import type { Clock } from '#core/clock.ts';

/** Time-outs of a simulated process. They end only when the process checks its clock. */
export class Waits {
  readonly #clock: Clock;
  readonly #waits = new Set<{ readonly untilMs: number; readonly end: () => void }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles like `work`, or with the result of `late` when the time is over. */
  async within<T>(ms: number, work: Promise<T>, late: () => T | Promise<never>): Promise<T> {
    const ended = Promise.withResolvers<T>();
    const wait = { untilMs: this.#clock.monotonicMs() + ms, end: () => ended.resolve(late()) };
    this.#waits.add(wait);
    try {
      return await Promise.race([work, ended.promise]);
    } finally {
      this.#waits.delete(wait);
    }
  }

  endLate(): void {
    for (const wait of this.#waits) if (this.#clock.monotonicMs() >= wait.untilMs) wait.end();
  }
}
