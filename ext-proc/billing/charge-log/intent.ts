import type { DoorApi } from '#core/config/apis.ts';
import type { ListedTerms, PriceTable, ServedUsage } from '#core/pricing.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { MeteredUsage } from '../../hold/delivery-hold.ts';

/**
 * Admitted request in the log, with everything that the next process needs to charge it, but
 * without text of the prompt (docs/design.md, "Invariants", 9).
 */
export interface Intent extends ListedTerms, Pick<Settlement, KnownAtAdmission> {
  /** API that the client spoke. Absent: chat completions. */
  readonly api?: DoorApi;
  /** Output limit of all completions together. */
  readonly mostOutputTokens: number;
  /** Present if the request has an Idempotency-Key. Each hash has 32 bytes. */
  readonly claim?: IntentClaim;
}

type KnownAtAdmission =
  | ('generationId' | 'organizationId' | 'keyId' | 'day' | 'model' | 'user')
  | ('holdNanoUsd' | 'streamed' | 'createdAtMs');

export interface IntentClaim {
  readonly keyHash: Buffer;
  readonly bodyHash: Buffer;
}

export interface AskedTarget {
  readonly provider: string;
  readonly providerModel: string;
  readonly costTable?: PriceTable | undefined;
  /** Service tier in the provider's request, if any. */
  readonly sentTier?: string | undefined;
  /** Estimated tokens of the prompt in the provider's request. */
  readonly promptTokens: number;
}

export interface Asked extends AskedTarget {
  /** Number among the attempts of this generation, from 1. */
  readonly attempt: number;
  readonly askedAtMs: number;
}

/** Request that a former process neither charged nor released. */
export interface UnsettledIntent extends Intent {
  readonly asked: Asked;
  /** Present if a part of the stream was delivered. */
  readonly delivered?: Delivered;
}

export interface Delivered {
  readonly tokens: number;
  readonly upstreamId?: string;
  /** Unix milliseconds. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Usage that the provider has reported so far. */
  readonly reported?: ServedUsage;
  /** The stream has ended, and is about to be charged. */
  readonly ended?: MeteredUsage;
}
