import type { Steps } from './steps.ts';

/** One body blocks the event loop for at most this long, plus one step. */
const SLICE_MS = 4;

interface Waiting {
  /** Works for one slice. True: all work is done. */
  work(untilMs: number): boolean;
}

/**
 * Validates large bodies in turns. Each turn of the event loop works on one body for one slice, and
 * organizations take turns. So the bodies of one organization, in any number and form, delay those
 * of another by only some slices. Bodies of one organization are validated one after the other. A
 * waiting body holds only its bytes. The one in progress holds some MB more.
 */
export class ValidationTurns {
  /** Waiting bodies by organization. The first organization has the next turn. */
  readonly #queues = new Map<string, Waiting[]>();
  /** Time spent in this turn of the event loop on bodies that did not wait. */
  #spentMs = 0;
  #scheduled = false;

  /** Validates a body, at once if none waits. `undefined`: the client left before the end. */
  run<Result>(
    organizationId: string,
    steps: Steps<Result>,
    gone: () => AbortSignal,
  ): Result | Promise<Result | undefined> {
    if (this.#queues.size === 0 && this.#spentMs < SLICE_MS) {
      const startedMs = performance.now();
      const untilMs = startedMs + SLICE_MS - this.#spentMs;
      const finished = workUntil(steps, untilMs);
      this.#spentMs += performance.now() - startedMs;
      this.#schedule();
      if (finished !== undefined) return finished.result;
    }
    return this.#wait(organizationId, steps, gone());
  }

  #wait<Result>(organizationId: string, steps: Steps<Result>, gone: AbortSignal): Promise<Result | undefined> {
    if (gone.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        work(untilMs) {
          try {
            const finished = workUntil(steps, untilMs);
            if (finished === undefined) return false;
            resolve(finished.result);
          } catch (error) {
            reject(error);
          }
          gone.removeEventListener('abort', leave);
          return true;
        },
      };
      const leave = () => {
        this.#remove(organizationId, waiting);
        resolve(undefined);
      };
      gone.addEventListener('abort', leave, { once: true });
      const queue = this.#queues.get(organizationId);
      if (queue) queue.push(waiting);
      else this.#queues.set(organizationId, [waiting]);
      this.#schedule();
    });
  }

  #remove(organizationId: string, waiting: Waiting): void {
    const queue = this.#queues.get(organizationId)?.filter((other) => other !== waiting) ?? [];
    if (queue.length > 0) this.#queues.set(organizationId, queue);
    else this.#queues.delete(organizationId);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#scheduled = false;
    this.#spentMs = 0;
    const [next] = this.#queues;
    if (next === undefined) return;
    const [organizationId, queue] = next;
    this.#queues.delete(organizationId);
    if (queue[0]?.work(performance.now() + SLICE_MS)) queue.shift();
    if (queue.length > 0) this.#queues.set(organizationId, queue);
    if (this.#queues.size > 0) this.#schedule();
  }
}

/** Works until a moment. `undefined`: there is more to do. */
function workUntil<Result>(steps: Steps<Result>, untilMs: number): { readonly result: Result } | undefined {
  do {
    const step = steps.next();
    if (step.done === true) return { result: step.value };
  } while (performance.now() < untilMs);
  return undefined;
}
