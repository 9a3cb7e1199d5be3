import type { TokenUsage } from '../../core/pricing.ts';

export interface Attempt {
  readonly provider: string;
  /** `ok` or why the attempt failed. */
  readonly result: string;
  /** Present: the attempt failed for the operator's own account at the provider. */
  readonly account?: AccountErrorKind | undefined;
  /** From asking the provider to the end of its answer, or to its failure. */
  readonly durationMs?: number;
  /**
   * From asking the provider to the first event of its stream, or to the head of its other answer.
   */
  readonly firstEventMs?: number;
}

/**
 * The part of the operator's own account at a provider that an error is about: its credentials and
 * permissions, or its money and quota. Neither is the client's to read or to mend.
 */
export type AccountErrorKind = 'credentials' | 'funds';

/** An attempt at a provider that nobody is charged for. */
export interface UnchargedAttempt {
  /** Number among the attempts of this request, from 1. */
  readonly attempt: number;
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
  readonly askedAtMs: number;
  /** `ok`, of one that was not charged, or why it failed. */
  readonly result: string;
  readonly work: ProviderWork;
  /** The provider's own id of the answer, or of the request, where it sent one. */
  readonly upstreamId?: string;
  /** Tokens that the provider may bill for `some` work. */
  readonly tokens?: { readonly usage: TokenUsage; readonly source: 'reported' | 'counted' | 'estimated' };
}

/**
 * Work of a provider for a failed attempt: it was not sent the request, it answered that it
 * had failed or refused, or it worked, at least on the prompt, for what is known.
 */
export type ProviderWork = 'none' | 'refused' | 'some';
