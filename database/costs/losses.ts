import type { NanoUsd } from '../../core/money.ts';

/**
 * `over_hold`: usage beyond what was held for it; `balance`: a late charge found too little left.
 */
export type LossReason =
  | 'over_hold'
  | 'balance'
  | 'timeout'
  | 'response_too_large'
  | 'no_room'
  | 'client_left'
  | 'crash'
  | 'taken_over'
  | 'forgiven';

/** Work that a provider is paid for, or may be, and that no organization pays. */
export interface Loss {
  readonly generationId: string;
  readonly organizationId: string;
  readonly reason: LossReason;
  readonly amountNanoUsd: NanoUsd;
  readonly model: string;
  readonly provider: string;
}

/** After the commit, once for each loss that is new. */
export type OnLoss = (reason: LossReason, amountNanoUsd: NanoUsd) => void;

export interface LossRecord extends Omit<Loss, 'model' | 'provider'> {
  readonly createdAtMs: number;
}
