import type { UtcDay } from '#core/clock.ts';
import type { DoorApi } from '#core/config/apis.ts';
import type { NanoUsd } from '#core/money.ts';
import type { ListedTerms } from '#core/pricing.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { DeliveryHold } from '../hold/delivery-hold.ts';
import type { IdempotencyClaim } from './idempotency/claims.ts';

/** Facts of an admitted request that its charge needs. */
export interface HoldTerms extends ListedTerms {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly day: UtcDay;
  readonly model: string;
  /** `user` of the request. Never logged. */
  readonly user?: string;
  /** API that the client spoke. Absent: chat completions. */
  readonly api?: DoorApi;
  readonly streamed: boolean;
  readonly createdAtMs: number;
  /** Output limit of all completions together. */
  readonly mostOutputTokens: number;
  /** The request can be charged at most this. */
  readonly holdNanoUsd: NanoUsd;
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
