import type { Settlement } from '#database/ledger/ledger.ts';
import type { DeliveryHold } from '../hold/delivery-hold.ts';
import type { Intent } from './charge-log/intent.ts';
import type { IdempotencyClaim } from './idempotency/claims.ts';

/** Facts of an admitted request that its charge needs. */
export interface HoldTerms extends Intent {
  /** The request ends within this time. */
  readonly totalTimeoutMs: number;
  /** Present if the request has an Idempotency-Key. */
  readonly claim?: IdempotencyClaim;
}

/** Hold of an admitted request, from its admission to its charge or release. */
export interface BillableHold extends DeliveryHold {
  /**
   * Aborts when the process ends or the hold no longer counts. The call of the provider is then
   * cancelled, and its output is charged at once.
   */
  readonly mustEnd: AbortSignal;
  /** Charge for log and metrics. `undefined`: nothing is charged yet. */
  charged(): Pick<Settlement, 'usage' | 'costNanoUsd' | 'providerCostNanoUsd'> | undefined;
}
