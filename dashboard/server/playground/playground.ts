import { PlaygroundKeys } from './playground-keys.ts';

/** Two models side by side, and a second tab that plays while the first one does. */
const MAX_PLAYS_OF_USER = 4;
/** Plays of a process, each with a connection of a browser and one to the gateway. */
const MAX_PLAYS = 64;

/** State that plays share: keys, and how many there may be at once. */
export class Playground {
  readonly keys = new PlaygroundKeys();
  readonly #playsByUser = new Map<string, number>();
  #plays = 0;

  /**
   * Begins a play. The returned function ends it, and may be called again. A refusal says whether
   * it is because of the user's own plays.
   */
  begin(userId: string): (() => void) | { readonly isOwn: boolean } {
    const own = this.#playsByUser.get(userId) ?? 0;
    if (own >= MAX_PLAYS_OF_USER || this.#plays >= MAX_PLAYS) return { isOwn: own >= MAX_PLAYS_OF_USER };
    this.#playsByUser.set(userId, own + 1);
    this.#plays += 1;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#plays -= 1;
      const left = (this.#playsByUser.get(userId) ?? 1) - 1;
      if (left === 0) this.#playsByUser.delete(userId);
      else this.#playsByUser.set(userId, left);
    };
  }
}
