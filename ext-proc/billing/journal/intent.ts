import type { UtcDay } from '../../../core/clock.ts';
import type { NanoUsd } from '../../../core/money.ts';
import type { Prices, TokenUsage } from '../../../core/pricing.ts';

/**
 * An admitted request, with what a successor of this process needs to settle it. Nothing of its
 * prompt (docs/design.md, "Invariants", 9).
 */
export interface Intent {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly day: UtcDay;
  readonly model: string;
  readonly prices: Prices;
  readonly holdNanoUsd: NanoUsd;
  readonly streamed: boolean;
  readonly createdAtMs: number;
  /** As it was estimated when it was admitted. */
  readonly promptTokens: number;
  /** Output limit of all completions together. */
  readonly mostOutputTokens: number;
  /** Present if the request has an Idempotency-Key; 32 bytes each. */
  readonly claim?: IntentClaim;
}

export interface IntentClaim {
  readonly keyHash: Buffer;
  readonly bodyHash: Buffer;
}

export interface AskedTarget {
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
}

/** The attempt at a provider that was asked last. */
export interface Asked extends AskedTarget {
  /** Number among the attempts of this generation, from 1. */
  readonly attempt: number;
  readonly askedAtMs: number;
}

/** Output of a provider's stream so far. */
export interface Output {
  /** About how many. */
  readonly tokens: number;
  /** The provider's own id of the answer, once it is known. */
  readonly upstreamId: string | undefined;
}

/** A stream that has ended, as it is about to be charged. */
export interface EndedOutput {
  readonly usage: TokenUsage;
  readonly usageCounted: boolean;
}

/** A request that a former process neither charged nor released. */
export interface LeftIntent extends Intent {
  readonly asked: Asked;
  /** A stream of which something was sent on. */
  readonly delivered?: Delivered;
}

export interface Delivered {
  readonly tokens: number;
  readonly upstreamId?: string;
  /** Unix milliseconds. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly ended?: EndedOutput;
}
