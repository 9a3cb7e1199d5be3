import { setImmediate as turn } from 'node:timers/promises';

/** A runner of code: it may die, or stand still while the world goes on. */
export interface Runner {
  alive: boolean;
  stalled: boolean;
}

interface Event {
  readonly owner: Runner;
  /**
   * `call`: on its way to a store, which does it whatever became of the caller. `answer`: on its
   * way back, for a caller that runs.
   */
  readonly kind: 'call' | 'answer';
  readonly name: string;
  run(): Promise<void> | void;
}

export interface CallOptions {
  /** The message may arrive once more, later. */
  readonly repeatable?: boolean;
}

/**
 * Decides when each call of a process to a store happens and when its answer arrives, so that a
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
   * One thing happens; false when there is nothing that could. `again`: a message that may be
   * repeated comes once more later.
   */
  async step(pick: number, again = false): Promise<boolean> {
    const possible = this.#events.filter(({ kind, owner }) => kind === 'call' || (owner.alive && !owner.stalled));
    const event = possible[pick % Math.max(1, possible.length)];
    if (!event) return false;
    this.#events.splice(this.#events.indexOf(event), 1);
    const work = this.#repeatable.get(event.run);
    if (again && work) this.#events.push({ ...event, run: async () => void (await Promise.allSettled([work()])) });
    await event.run();
    await settled();
    return true;
  }

  /**
   * Decides the messages of a dead process: each arrives now or never. Returns the names of those
   * that never do.
   */
  async bury(owner: Runner, arrives: (name: string) => boolean): Promise<string[]> {
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

  /** True: the call or its answer is on its way. */
  isUnderWay(owner: Runner, name: string): boolean {
    return this.#events.some((event) => event.owner === owner && event.name === name);
  }
}

/** Everything that can run without another answer has run. */
export async function settled(): Promise<void> {
  await turn();
}
