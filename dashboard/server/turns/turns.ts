import { StoreUnavailable } from '../../../core/store-unavailable.ts';

/** The user and organization that query the database. */
export interface TurnTaker {
  readonly userId: string;
  /** Absent for operators, and for requests outside any organization. */
  readonly organizationId?: string;
}

export interface TurnLimits {
  readonly all: number;
  readonly perOrganization: number;
  readonly perUser: number;
  readonly waitingPerUser: number;
  readonly waitingPerOrganization: number;
  readonly waitMs: number;
}

/**
 * One turn for each connection. A page sends about ten requests at once, none of which takes a
 * second.
 */
export const TURN_LIMITS: TurnLimits = {
  all: 6,
  perOrganization: 3,
  perUser: 2,
  waitingPerUser: 40,
  waitingPerOrganization: 120,
  waitMs: 5_000,
};

/**
 * No turn became free in time, or the queue is full. `isOwn`: because of the requests of the same
 * user or organization.
 */
export class NoTurn extends StoreUnavailable {
  readonly isOwn: boolean;
  readonly retryAfterSeconds: number;

  constructor(isOwn: boolean, retryAfterSeconds: number) {
    super('no turn at the database');
    this.isOwn = isOwn;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

interface Waiting {
  readonly who: TurnTaker;
  begin(): void;
}

/**
 * Shares the connections of this process, so that slow statements of one user or organization
 * cannot take all of them. The next turn goes to the organization with the fewest, in the order of
 * waiting.
 */
export class Turns {
  readonly #limits: TurnLimits;
  #running: TurnTaker[] = [];
  #waiting: Waiting[] = [];

  constructor(limits: TurnLimits = TURN_LIMITS) {
    this.#limits = limits;
  }

  /** Rejects with NoTurn before `work` has begun. */
  async within<T>(who: TurnTaker, work: () => Promise<T>): Promise<T> {
    const end = await this.take(who);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Resolves to a function that ends the turn; call it once. Rejects with NoTurn. */
  take(who: TurnTaker): Promise<() => void> {
    const { waitingPerUser, waitingPerOrganization, waitMs } = this.#limits;
    if (this.#mayRun(who)) return Promise.resolve(this.#begin(who));
    const takers = this.#waiting.map((one) => one.who);
    if (ofUser(takers, who) >= waitingPerUser || ofOrganization(takers, who) >= waitingPerOrganization) {
      return Promise.reject(new NoTurn(true, Math.ceil(waitMs / 1000)));
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(new NoTurn(!this.#hasOwnRoom(who), Math.ceil(waitMs / 1000)));
      }, waitMs);
      const waiting: Waiting = {
        who,
        begin: () => {
          clearTimeout(timer);
          resolve(this.#begin(who));
        },
      };
      this.#waiting.push(waiting);
    });
  }

  #begin(who: TurnTaker): () => void {
    // A new object, because a user may have several turns.
    const running = { ...who };
    this.#running.push(running);
    return () => {
      this.#running = this.#running.filter((one) => one !== running);
      this.#next();
    };
  }

  #next(): void {
    for (;;) {
      const able = this.#waiting.filter(({ who }) => this.#mayRun(who));
      const [first, ...others] = able;
      if (first === undefined) return;
      const next = others.reduce((best, one) => (this.#turnsOf(one.who) < this.#turnsOf(best.who) ? one : best), first);
      this.#waiting = this.#waiting.filter((one) => one !== next);
      next.begin();
    }
  }

  #turnsOf(who: TurnTaker): number {
    return who.organizationId === undefined ? ofUser(this.#running, who) : ofOrganization(this.#running, who);
  }

  #mayRun(who: TurnTaker): boolean {
    return this.#running.length < this.#limits.all && this.#hasOwnRoom(who);
  }

  #hasOwnRoom(who: TurnTaker): boolean {
    const { perUser, perOrganization } = this.#limits;
    return ofUser(this.#running, who) < perUser && ofOrganization(this.#running, who) < perOrganization;
  }
}

function ofUser(takers: readonly TurnTaker[], { userId }: TurnTaker): number {
  return takers.filter((one) => one.userId === userId).length;
}

function ofOrganization(takers: readonly TurnTaker[], { organizationId }: TurnTaker): number {
  if (organizationId === undefined) return 0;
  return takers.filter((one) => one.organizationId === organizationId).length;
}
