import type { Steps } from '../shared-budget/steps.ts';

/**
 * So long one piece of work may keep the event loop, and with it every other request. One step
 * comes on top.
 */
const SLICE_MS = 4;

interface Waiting {
  /** Goes on for one slice. True: it is over. */
  work(untilMs: number): boolean;
}

/**
 * Judges bodies by turns: one slice of one body in each turn of the event loop, and organizations
 * one after the other, so that nobody's bodies, however many there are and however they are made,
 * keep another organization waiting for longer than some slices. Of one organization one body is
 * judged after the other. What waits holds nothing but its body, and what is being judged some MB
 * more.
 */
export class ValidationTurns {
  /** The organization whose turn is next stands first. */
  readonly #lines = new Map<string, Waiting[]>();
  /** Time spent in this turn of the event loop on bodies that are judged at once. */
  #spentMs = 0;
  #scheduled = false;

  /**
   * At once, if that is short and nobody waits. `undefined`: the client left before it was done.
   */
  run<Result>(
    organizationId: string,
    steps: Steps<Result>,
    gone: () => AbortSignal,
  ): Result | Promise<Result | undefined> {
    if (this.#lines.size === 0 && this.#spentMs < SLICE_MS) {
      const startedMs = performance.now();
      const untilMs = startedMs + SLICE_MS - this.#spentMs;
      const finished = goOn(steps, untilMs);
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
            const finished = goOn(steps, untilMs);
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
      const line = this.#lines.get(organizationId);
      if (line) line.push(waiting);
      else this.#lines.set(organizationId, [waiting]);
      this.#schedule();
    });
  }

  #remove(organizationId: string, waiting: Waiting): void {
    const line = this.#lines.get(organizationId)?.filter((other) => other !== waiting) ?? [];
    if (line.length > 0) this.#lines.set(organizationId, line);
    else this.#lines.delete(organizationId);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#scheduled = false;
    this.#spentMs = 0;
    const [next] = this.#lines;
    if (next === undefined) return;
    const [organizationId, line] = next;
    this.#lines.delete(organizationId);
    if (line[0]?.work(performance.now() + SLICE_MS)) line.shift();
    if (line.length > 0) this.#lines.set(organizationId, line);
    if (this.#lines.size > 0) this.#schedule();
  }
}

/** `undefined`: there is more to do. */
function goOn<Result>(steps: Steps<Result>, untilMs: number): { readonly result: Result } | undefined {
  do {
    const step = steps.next();
    if (step.done === true) return { result: step.value };
  } while (performance.now() < untilMs);
  return undefined;
}
