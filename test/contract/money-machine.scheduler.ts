import { setImmediate as turn } from 'node:timers/promises';

/** A runner of code, which may die, or stall while others continue. */
export interface Runner {
  alive: boolean;
  stalled: boolean;
}

interface Event {
  readonly owner: Runner;
  /**
   * `call` is a message to a store, which executes it whatever became of the caller. `answer` is
   * a reply, which needs a running caller.
   */
  readonly kind: 'call' | 'answer';
  readonly name: string;
  run(): Promise<void> | void;
}

export interface CallOptions {
  /** Set if the message may arrive again later. */
  readonly repeatable?: boolean;
}

/**
 * Decides when each call of a process to a store is executed and when its reply arrives, so that a
 * history can put anything in between: another process, a crash, a minute. Nothing else in a
 * history takes time.
 */
export class Scheduler {
  readonly #events: Event[] = [];

  call<T>(owner: Runner, name: string, work: () => Promise<T>, options: CallOptions = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const perform = async (): Promise<void> => {
        const [outcome] = await Promise.allSettled([work()]);
        if (!owner.alive) return;
        this.#events.push({
          owner,
          kind: 'answer',
          name,
          run: () => (outcome.status === 'fulfilled' ? resolve(outcome.value) : reject(outcome.reason)),
        });
      };
      this.#events.push({ owner, kind: 'call', name, run: perform });
      if (options.repeatable) this.#repeatable.set(perform, work);
    });
  }

  readonly #repeatable = new WeakMap<Event['run'], () => Promise<unknown>>();

  /**
   * Runs one event. Returns false if there is none. If `again`, a repeatable message arrives again
   * later.
   */
  async step(pick: number, again = false): Promise<boolean> {
    const possible = this.#events.filter(({ kind, owner }) => kind === 'call' || (owner.alive && !owner.stalled));
    const event = possible[pick % Math.max(1, possible.length)];
    if (!event) return false;
    if (!event.owner.alive) throw new Error(`a dead process has sent: ${event.name}`);
    this.#events.splice(this.#events.indexOf(event), 1);
    const work = this.#repeatable.get(event.run);
    if (again && work) this.#events.push({ ...event, run: async () => void (await Promise.allSettled([work()])) });
    await event.run();
    await settled();
    return true;
  }

  /**
   * Ends the messages of a dead process: each arrives now or never. Returns the names of the lost
   * ones.
   */
  async endMessages(owner: Runner, arrives: (name: string) => boolean): Promise<string[]> {
    const sent = this.#events.filter((event) => event.owner === owner);
    const lost: string[] = [];
    for (const event of sent) {
      this.#events.splice(this.#events.indexOf(event), 1);
      if (event.kind === 'call' && arrives(event.name)) await event.run();
      else if (event.kind === 'call') lost.push(event.name);
    }
    await settled();
    return lost;
  }

  /** Whether the call or its reply is in transit. */
  isUnderWay(owner: Runner, name: string): boolean {
    return this.#events.some((event) => event.owner === owner && event.name === name);
  }
}

/** Resolves when everything that can run without another reply has run. */
export async function settled(): Promise<void> {
  await turn();
}
