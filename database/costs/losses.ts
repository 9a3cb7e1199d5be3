import type { NanoUsd } from '#core/money.ts';

/**
 * Reason of a loss. `over_hold`: the price of the usage exceeds the hold. `balance`: the balance
 * did not cover a late charge. `tier`: the served service tier costs more than the requested one.
 */
export type LossReason =
  | 'over_hold'
  | 'balance'
  | 'tier'
  | 'timeout'
  | 'response_too_large'
  | 'no_room'
  | 'client_left'
  | 'crash'
  | 'taken_over'
  | 'forgiven';

/** Work that a provider may bill, but no organization pays for. */
export interface Loss {
  readonly generationId: string;
  readonly organizationId: string;
  readonly reason: LossReason;
  readonly amountNanoUsd: NanoUsd;
  readonly model: string;
  readonly provider: string;
}

/** Called after the commit, once for each new loss. */
export type OnLoss = (reason: LossReason, amountNanoUsd: NanoUsd) => void;

export interface LossRecord extends Omit<Loss, 'model' | 'provider'> {
  readonly createdAtMs: number;
}
