import { NoTurn, Turns, type TurnTaker } from '#core/fairness/turns.ts';

export interface PlaceLimits {
  readonly ofUser: number;
  readonly ofOrganization: number;
  /** Of a process. */
  readonly ofAll: number;
}

/**
 * Places for what a user keeps open, such as a play. Nobody waits for one. Shares keep one user or
 * organization from taking those of others.
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
   * Takes a place. The returned function gives it back, and may be called again. A refusal says
   * whether it is because of places of the same user or organization.
   */
  async take(taker: TurnTaker): Promise<(() => void) | { readonly isOwn: boolean }> {
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
