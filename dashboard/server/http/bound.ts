import { type Problem, problem, unavailable } from './problem.ts';

/** A body or a response that holds part of a bounded amount. */
export interface Holder {
  /** Whose share it uses. */
  readonly owner: string | undefined;
  /** Releases what it holds, in favour of others. */
  giveWay(why: Problem): void;
}

/**
 * A bounded amount that is shared, such as memory. A body holds its part while it is read and while
 * its request uses it, and a response until its client has received it.
 */
export class Bound {
  readonly #limit: number;
  readonly #share: number;
  #taken = 0;
  readonly #takenBy = new Map<string | undefined, number>();
  /** Whoever waits for its client, oldest first. */
  readonly #unfinished = new Set<Holder>();

  /** `share`: bound for all holders of the same owner. */
  constructor(limit: number, share = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
    this.#share = share;
  }

  /**
   * If too little is left, the oldest unfinished holders give way: their clients have stalled.
   * Returns a problem if only finished holders and this one hold the amount.
   */
  take(holder: Holder, amount: number): Problem | undefined {
    this.#unfinished.add(holder);
    for (;;) {
      const isOwn = this.#ownedBy(holder) + amount > this.#share;
      if (!isOwn && this.#taken + amount <= this.#limit) break;
      const why = isOwn ? BUSY_YOURSELF : BUSY;
      const first = this.#oldest(isOwn ? holder : undefined);
      // Each holder is evicted at most once.
      this.#unfinished.delete(first ?? holder);
      if (first === undefined || first === holder) return why;
      first.giveWay(why);
    }
    this.#count(holder, amount);
    return undefined;
  }

  finish(holder: Holder): void {
    this.#unfinished.delete(holder);
  }

  release(holder: Holder, amount: number): void {
    this.#unfinished.delete(holder);
    this.#count(holder, -amount);
  }

  #ownedBy({ owner }: Holder): number {
    return this.#takenBy.get(owner) ?? 0;
  }

  /** `like`: only holders of the same owner. */
  #oldest(like: Holder | undefined): Holder | undefined {
    for (const holder of this.#unfinished) if (like === undefined || holder.owner === like.owner) return holder;
    return undefined;
  }

  #count(holder: Holder, amount: number): void {
    this.#taken += amount;
    const owned = this.#ownedBy(holder) + amount;
    if (owned === 0) this.#takenBy.delete(holder.owner);
    else this.#takenBy.set(holder.owner, owned);
  }
}

const BUSY = unavailable('Too many requests at once.');

const BUSY_YOURSELF = problem('too_many_requests', 'You or your organization have too many requests at once.', {
  retryAfterSeconds: 5,
});
