import type { TokenUsage } from '../../core/pricing.ts';
import type { Loss } from './losses.ts';

/**
 * Why nobody was charged for what a provider was asked. A bounded set: metrics have it as a label.
 */
export const UNCHARGED_REASONS = [
  /** No provider has seen the whole request. */
  'not_sent',
  /** The provider answered that it failed, or refused; providers bill nothing for that. */
  'provider_error',
  /** The answer broke off, or was none. */
  'broken',
  'timeout',
  /** Over `limits.response_body`. */
  'response_too_large',
  /** Too many large answers were in memory. */
  'no_room',
  'client_left',
  /** A planned stop cut it. */
  'process_ends',
  /** The response was complete, and its charge was refused, is a dead letter, or was lost. */
  'not_charged',
  /** The gateway process died. */
  'crash',
] as const;

export type UnchargedReason = (typeof UNCHARGED_REASONS)[number];

/**
 * One attempt at a provider that nobody was charged for: one that was charged is its generation.
 * For the comparison with what providers bill; no charge depends on it.
 */
export interface ProviderAttempt {
  readonly generationId: string;
  /**
   * Number among the attempts of this generation, from 1; 0: a charge from the spool, which does
   * not know it.
   */
  readonly attempt: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
  /** The provider's own id of the answer, or of the request, where it sent one. */
  readonly upstreamId?: string;
  readonly askedAtMs: number;
  /** `ok`, `client_left`, `crash`, or why the attempt failed (delivery/provider-failure.ts). */
  readonly result: string;
  readonly reason: UnchargedReason;
  /** Tokens that the provider may bill. Absent: none, or unknown. */
  readonly tokens?: AttemptTokens;
  /** Loss of the operator that is booked with the row: the price for the customer. */
  readonly loss?: Pick<Loss, 'reason' | 'amountNanoUsd'>;
}

export interface AttemptTokens {
  readonly usage: TokenUsage;
  /** By the provider, by the tokenizer, or from the length of the text. */
  readonly source: 'reported' | 'counted' | 'estimated';
}

/** Keeps attempts, as long as the request log is kept. */
export interface ProviderAttempts {
  /**
   * Takes it, to be written soon; drops it, and counts that, when too many are waiting. Never
   * throws.
   */
  record(attempt: ProviderAttempt): void;
}

export interface ProviderAttemptStore {
  /** Each attempt once, by generation and number; otherwise as RequestLogStore.write(). */
  write(batch: readonly ProviderAttempt[]): Promise<{ readonly refused: number }>;
}
