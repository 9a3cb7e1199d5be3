import type { Target } from '#core/config/gateway-config.ts';
import type { Refusal } from '#core/errors/refusal.ts';
import type { ServedUsage, TokenUsage } from '#core/pricing.ts';
import type { Attempt, UnchargedAttempt } from './attempt.ts';

/** A hold as delivery sees it. It ends in a charge, or is released before the error is sent. */
export interface DeliveryHold {
  /** Notes the target of the next attempt and what it is sent, before it is called. */
  asked(target: Target, sent: SentPrompt): void;
  /** Notes that delivery begins. `output` so far is charged even if this process is killed. */
  delivers(output: () => OutputSoFar): void;
  /**
   * Notes that the provider's output has ended. Then the end of the response is composed, `charge`
   * is called, and the end is sent.
   */
  outputEnded(metered: MeteredUsage): void;
  /** Computes the charge in USD for `usage.cost`. */
  costUsd(used: ServedUsage): number;
  /**
   * Charges the output, and resolves when the charge is durable (docs/design.md, "Invariants", 4).
   * `response`: the whole body, if it is to be stored for replay. Returns a refusal if nothing was
   * charged, so that the response must not be sent.
   */
  charge(produced: ProviderOutput, response?: Buffer): Promise<Refusal | undefined>;
  uncharged(attempt: UnchargedAttempt): void;
  /** Releases the hold, unless it was charged. */
  release(): Promise<void>;
}

/** Facts about the prompt that one target is sent. */
export interface SentPrompt {
  /** Service tier, if any. */
  readonly tier: string | undefined;
  /** Estimated tokens. */
  readonly promptTokens: number;
}

/** Output of a provider that is to be charged. */
export interface ProviderOutput extends MeteredUsage {
  readonly provider: string;
  /** The target's name for the model. */
  readonly providerModel: string;
  readonly upstreamId?: string;
  readonly finishReason?: string;
  readonly cancelled: boolean;
  readonly firstEventMs: number;
  readonly generationTimeMs: number;
}

/** Usage by which a provider's output is charged. */
export interface MeteredUsage {
  readonly usage: TokenUsage;
  readonly usageCounted: boolean;
  readonly serviceTier?: string;
}

export interface OutputSoFar {
  /** Estimated tokens of the output. */
  readonly tokens: number;
  /** The provider's id of the response, once known. */
  readonly upstreamId: string | undefined;
  /** Usage that the provider has reported. The output may have grown since. */
  readonly usage?: TokenUsage | undefined;
  readonly serviceTier?: string | undefined;
}

/** Outcome of a delivery, for log and metrics. The charge is `OpenHold.charged`. */
export interface DeliveryOutcome {
  readonly status: number;
  /** Refusal that the client got as a response or as the final event. */
  readonly refusal?: Refusal;
  readonly attempts: readonly Attempt[];
  readonly firstEventMs?: number;
  readonly clientGone: boolean;
  readonly usageMismatch?: TotalMismatch | undefined;
  /** The response's usage counts something about a cache that no rule reads. */
  readonly hasUnreadCache?: boolean;
}

/** How the reported total differs from prompt plus completion. `undefined`: equal, or no counts. */
export type TotalMismatch = 'above' | 'below';
