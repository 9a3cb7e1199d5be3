import { NoTurn, type TurnLimits, Turns, type TurnTaker } from '#core/fairness/turns.ts';
import { PlaygroundKeys } from './playground-keys.ts';

/** A play has a connection of a browser and one to the gateway. None waits for others to end. */
const LIMITS: TurnLimits = {
  atOnce: 64,
  // A quarter, so that one organization keeps nobody else from playing.
  perOrganization: { atOnce: 16, waiting: 0 },
  // Two models side by side, and a second tab that plays while the first one does.
  perUser: { atOnce: 4, waiting: 0 },
  waitMs: 0,
};

/** State that plays share: keys, and how many there may be at once. */
export class Playground {
  readonly keys = new PlaygroundKeys();
  readonly #plays = new Turns(LIMITS);

  /**
   * Begins a play. The returned function ends it, and may be called again. A refusal says whether
   * it is because of plays of the same user or organization.
   */
  async begin(taker: TurnTaker): Promise<(() => void) | { readonly isOwn: boolean }> {
    const end = await this.#plays.take(taker).catch((error: unknown) => {
      if (error instanceof NoTurn) return error;
      throw error;
    });
    if (end instanceof NoTurn) return end;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      end();
    };
  }
}
