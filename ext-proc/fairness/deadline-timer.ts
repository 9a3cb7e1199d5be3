/** Call with a deadline, which may move. */
export interface HasDeadline {
  /** On `performance.now()`; infinite: not at all. */
  readonly endsByMs: number;
  /** Called when the time is over. It may give the call a new deadline, and must note that. */
  expire(): void;
}

/**
 * Expires calls with one timer for all: separate timers were set and cleared three times per
 * request. It is set for the earliest deadline, and again when that call is over or has more time.
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

  /** Notes an earlier deadline of a watched call. */
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
    this.#looksAtMs = nextMs;
    for (const call of this.#calls) {
      const { endsByMs } = call;
      if (endsByMs <= nowMs) call.expire();
      else if (endsByMs < nextMs) nextMs = endsByMs;
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.lookBy(nextMs);
  }
}
