import { NoTurn, Turns, type TurnTaker } from '#core/fairness/turns.ts';

export interface PlaceLimits {
  readonly ofUser: number;
  readonly ofOrganization: number;
  /** Limit of one process. */
  readonly ofAll: number;
}

/**
 * Slots for what a user keeps open, such as a play. Nobody waits for a slot. Shares keep one user
 * or organization from occupying all of them.
 */
export class Places {
  readonly #turns: Turns;

  constructor({ ofUser, ofOrganization, ofAll }: PlaceLimits) {
    this.#turns = new Turns({
      atOnce: ofAll,
      perOrganization: { atOnce: ofOrganization, waiting: 0 },
      perUser: { atOnce: ofUser, waiting: 0 },
      waitMs: 0,
    });
  }

  /**
   * Takes a slot. The returned function frees it, and may be called again. A refusal says whether
   * the same user or organization occupies the slots.
   */
  async take(taker: TurnTaker): Promise<(() => void) | { readonly isOwnFault: boolean }> {
    const end = await this.#turns.take(taker).catch((error: unknown) => {
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
