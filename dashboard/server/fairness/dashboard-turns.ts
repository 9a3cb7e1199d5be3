import { NoTurn, type TurnLimits, Turns, type TurnTaker } from '#core/fairness/turns.ts';

/** One turn per connection. A page sends about ten requests at once, each shorter than a second. */
export const TURN_LIMITS: TurnLimits = {
  atOnce: 6,
  perOrganization: { atOnce: 3, waiting: 120 },
  perUser: { atOnce: 2, waiting: 40 },
  waitMs: 5_000,
};

/** Turns of signed-in users. If too many calls wait, another call is refused immediately. */
export class DashboardTurns extends Turns {
  constructor() {
    super(TURN_LIMITS);
  }

  override take(taker: TurnTaker): Promise<() => void> {
    return this.isCrowded(taker) ? Promise.reject(new NoTurn(true, TURN_LIMITS.waitMs)) : super.take(taker);
  }
}
