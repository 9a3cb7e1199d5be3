/** Call with a deadline, which may move. */
export interface HasDeadline {
  /** Deadline on the clock of `performance.now()`. Infinity: none. */
  readonly endsByMs: number;
  /** Called after the deadline. It may set a new deadline, and then calls `lookBy`. */
  expire(): void;
}

/**
 * Expires calls with one timer for all: separate timers were set and cleared three times per
 * request. The timer is set for the earliest deadline. When it fires, it is set for the next one.
 */
export class DeadlineTimer {
  readonly #calls = new Set<HasDeadline>();
  #timer: NodeJS.Timeout | undefined;
  #looksAtMs = Number.POSITIVE_INFINITY;

  watch(call: HasDeadline): void {
    this.#calls.add(call);
  }

  forget(call: HasDeadline): void {
    this.#calls.delete(call);
  }

  /** Notes a deadline of a watched call, which may be the earliest. */
  lookBy(atMs: number): void {
    if (atMs >= this.#looksAtMs) return;
    clearTimeout(this.#timer);
    this.#looksAtMs = atMs;
    // The sockets of calls keep the process alive. The timer need not.
    this.#timer = setTimeout(() => this.#look(), Math.max(1, atMs - performance.now())).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#calls.clear();
  }

  #look(): void {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    this.#looksAtMs = nextMs;
    for (const call of this.#calls) {
      const { endsByMs } = call;
      if (endsByMs <= nowMs) call.expire();
      else if (endsByMs < nextMs) nextMs = endsByMs;
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.lookBy(nextMs);
  }
}
