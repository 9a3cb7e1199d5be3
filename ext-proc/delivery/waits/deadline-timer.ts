/** A call that has to end by a time of its own, which may move. */
export interface HasDeadline {
  /** On `performance.now()`; infinite: not at all. */
  readonly endsByMs: number;
  /** Called when the time is over. */
  expire(): void;
}

/**
 * Ends calls that take too long, with one timer for all: a timer for each was set and cleared three
 * times a request. It is set for the call that ends first, and looks again when that one is over or
 * has got more time.
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

  /** A call that is watched ends by then, perhaps sooner than any other. */
  lookBy(atMs: number): void {
    if (atMs >= this.#looksAtMs) return;
    clearTimeout(this.#timer);
    this.#looksAtMs = atMs;
    // A call has a socket that keeps the process; this timer may have none.
    this.#timer = setTimeout(() => this.#look(), Math.max(1, atMs - performance.now())).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#calls.clear();
  }

  #look(): void {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      const { endsByMs } = call;
      if (endsByMs <= nowMs) call.expire();
      else if (endsByMs < nextMs) nextMs = endsByMs;
    }
    this.#looksAtMs = Number.POSITIVE_INFINITY;
    if (nextMs < Number.POSITIVE_INFINITY) this.lookBy(nextMs);
  }
}
