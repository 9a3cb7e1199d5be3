import { StoreUnavailable } from '../store-unavailable.ts';

/** A caller who takes turns: an organization, one of its users, or a user outside of any. */
export type TurnTaker =
  | { readonly organizationId: string; readonly userId?: string }
  | { readonly organizationId?: undefined; readonly userId: string };

/** Bounds of one organization or one user. */
export interface TurnShare {
  readonly atOnce: number;
  /** Calls that may wait for a turn. Callers should refuse further ones. */
  readonly waiting: number;
}

export interface TurnLimits {
  /** Turns at once of all callers together: the number of connections for them. */
  readonly atOnce: number;
  readonly perOrganization: TurnShare;
  /** Absent if callers are organizations without users. */
  readonly perUser?: TurnShare;
  readonly waitMs: number;
}

/** No turn became free in time. `isOwnFault`: the same user's or organization's calls had all. */
export class NoTurn extends StoreUnavailable {
  readonly isOwnFault: boolean;
  readonly retryAfterSeconds: number;

  constructor(isOwnFault: boolean, waitMs: number) {
    super(`no turn at the database within ${waitMs} ms`);
    this.isOwnFault = isOwnFault;
    this.retryAfterSeconds = Math.ceil(waitMs / 1000);
  }
}

/** The turns and the waiting calls of one organization or one user. */
interface Group {
  readonly name: string;
  readonly share: TurnShare;
  running: number;
  /** Waiting calls, in the order of arrival. */
  readonly waiting: Set<Call>;
  /** The set of `#ready` that has the group. */
  ready?: Set<Group> | undefined;
}

interface Call {
  /** The organization, or the user outside of any: the groups between which turns are shared. */
  readonly group: Group;
  readonly user: Group | undefined;
  begin(): void;
}

type Groups = Pick<Call, 'group' | 'user'>;

/**
 * Organizations take turns at the database, so that no organization or user keeps the connections
 * from others, however many calls arrive at once or however slow they are. The next turn goes to
 * the organization with the fewest turns, and among equals to the one that has waited longest since
 * its last turn.
 */
export class Turns {
  readonly #limits: TurnLimits;
  /** Only groups with a turn or a waiting call. */
  readonly #groups = new Map<string, Group>();
  /** Organizations with waiting calls and fewer turns than allowed, by number of turns. */
  readonly #ready: readonly Set<Group>[];
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
    this.#ready = Array.from({ length: limits.perOrganization.atOnce }, () => new Set());
  }

  /** True if so many calls wait that the caller should refuse another one. */
  isCrowded(taker: TurnTaker): boolean {
    const groups = this.#groupsOf(taker);
    return !this.#mayBegin(groups) && (isFull(groups.group) || (groups.user !== undefined && isFull(groups.user)));
  }

  /** Runs `work` in a turn. Rejects with NoTurn if there is none in time, or as `work` does. */
  async run<Result>(taker: TurnTaker, work: () => Promise<Result>): Promise<Result> {
    const end = await this.take(taker);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Resolves to a function that ends the turn, to be called once. Rejects with NoTurn. */
  take(taker: TurnTaker): Promise<() => void> {
    const groups = this.#groupsOf(taker);
    if (this.#mayBegin(groups)) return Promise.resolve(this.#begin(groups));
    const { waitMs } = this.#limits;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#leave(call);
        reject(new NoTurn(!hasRoom(groups), waitMs));
      }, waitMs);
      const call: Call = {
        ...groups,
        begin: () => {
          clearTimeout(timer);
          this.#leave(call);
          resolve(this.#begin(groups));
        },
      };
      this.#update(groups, (group) => group.waiting.add(call));
    });
  }

  #groupsOf({ organizationId, userId }: TurnTaker): Groups {
    const { perOrganization, perUser } = this.#limits;
    return {
      group: this.#find(organizationId ?? `only ${userId}`, perOrganization),
      user: userId === undefined || perUser === undefined ? undefined : this.#find(userId, perUser),
    };
  }

  #find(name: string, share: TurnShare): Group {
    return this.#groups.get(name) ?? { name, share, running: 0, waiting: new Set() };
  }

  #mayBegin(groups: Groups): boolean {
    return this.#running < this.#limits.atOnce && hasRoom(groups);
  }

  #begin(groups: Groups): () => void {
    this.#running += 1;
    this.#update(groups, (group) => {
      group.running += 1;
    });
    return () => {
      this.#running -= 1;
      this.#update(groups, (group) => {
        group.running -= 1;
      });
      this.#beginNext();
    };
  }

  #leave(call: Call): void {
    this.#update(call, (group) => group.waiting.delete(call));
  }

  #beginNext(): void {
    while (this.#running < this.#limits.atOnce) {
      const call = this.#nextCall();
      if (call === undefined) return;
      call.begin();
    }
  }

  #nextCall(): Call | undefined {
    for (const groups of this.#ready) {
      for (const { waiting } of groups) {
        for (const call of waiting) if (hasRoom(call)) return call;
      }
    }
    return undefined;
  }

  /** Applies a change to the groups of a call, and files them by it. */
  #update({ group, user }: Groups, change: (group: Group) => void): void {
    change(group);
    this.#keep(group);
    const ready = group.waiting.size > 0 ? this.#ready[group.running] : undefined;
    if (ready !== group.ready) {
      group.ready?.delete(group);
      ready?.add(group);
      group.ready = ready;
    }
    if (user === undefined) return;
    change(user);
    this.#keep(user);
  }

  #keep(group: Group): void {
    if (group.running === 0 && group.waiting.size === 0) this.#groups.delete(group.name);
    else this.#groups.set(group.name, group);
  }
}

function hasRoom({ group, user }: Groups): boolean {
  return group.running < group.share.atOnce && (user === undefined || user.running < user.share.atOnce);
}

function isFull({ waiting, share }: Group): boolean {
  return waiting.size >= share.waiting;
}
