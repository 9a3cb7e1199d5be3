import type { Target } from '../../core/config/gateway-config.ts';
import type { Refusal } from '../../core/errors/refusal.ts';
import type { TokenUsage } from '../../core/pricing.ts';
import type { Attempt, UnchargedAttempt } from './provider-attempt.ts';

/**
 * The hold of an order: it ends in one charge, or is released before the client learns that nothing
 * was produced.
 */
export interface DeliveryHold {
  /** Before each target is asked. */
  asked(target: Target): void;
  /**
   * A stream begins to go to its client: what it has been sent is charged even if this process is
   * killed.
   */
  delivers(output: () => OutputSoFar): void;
  /** The stream has ended, and `charge` follows once its end is written. */
  outputEnded(metered: MeteredUsage): void;
  /** Charge of that usage, in USD, for `usage.cost`. */
  costUsd(usage: TokenUsage): number;
  /**
   * Resolves after the commit (docs/design.md, "Invariants", 4), with which the answer is kept:
   * every byte of a body that is whole, where the order asks for it; a refusal when the charge
   * could not be made durable, and is not made.
   */
  charge(produced: ProviderOutput, response?: Buffer): Promise<Refusal | undefined>;
  /** For the record: what a provider was asked in vain. */
  uncharged(attempt: UnchargedAttempt): void;
  /** Frees the hold; nothing happens when it was charged. */
  release(): Promise<void>;
}

/** Output of the provider, to be charged. */
export interface ProviderOutput {
  readonly provider: string;
  /** The provider's name for the model, as the target that answered has it. */
  readonly providerModel: string;
  readonly upstreamId?: string;
  readonly finishReason?: string;
  readonly usage: TokenUsage;
  readonly usageCounted: boolean;
  readonly cancelled: boolean;
  readonly latencyMs: number;
  readonly generationTimeMs: number;
}

export interface MeteredUsage {
  readonly usage: TokenUsage;
  readonly counted: boolean;
}

export interface OutputSoFar {
  /** About how many. */
  readonly tokens: number;
  /** Once it is known. */
  readonly upstreamId: string | undefined;
}

/** How a delivery ended, for log and metrics. Nothing was charged unless `charged`. */
export interface DeliveryOutcome {
  readonly status: number;
  /** The refusal that was answered, or sent as the final event of a stream. */
  readonly refusal?: Refusal;
  readonly attempts: readonly Attempt[];
  readonly timeToFirstEventMs?: number;
  readonly clientGone: boolean;
  /** Mismatch in the response's usage. */
  readonly usageMismatch?: TotalMismatch | undefined;
}

/**
 * How a total differs from prompt and completion together; `undefined` where it does not, or where
 * one of the three is no count.
 */
export type TotalMismatch = 'above' | 'below';
