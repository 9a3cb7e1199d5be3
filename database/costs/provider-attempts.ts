import type { NanoUsd } from '#core/money.ts';
import type { LoggedUsage } from '#core/pricing.ts';
import type { Loss } from './losses.ts';

/** Reasons of an uncharged attempt. A bounded set: metrics have it as a label. */
export const UNCHARGED_REASONS = [
  /** No provider has seen the whole request. */
  'not_sent',
  /** The provider reported an error; providers bill nothing for that. */
  'provider_error',
  /** The response broke off, or was invalid. */
  'broken',
  'timeout',
  /** Over `limits.response_body`. */
  'response_too_large',
  /** Too many large responses were in memory. */
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
 * Uncharged attempt, for the comparison with the provider's bill. A charged attempt is its
 * generation. No charge depends on this.
 */
export interface ProviderAttempt {
  readonly generationId: string;
  /**
   * Number of the attempt within its delivery, from 1; 0: a charge from the log, which has no
   * number.
   */
  readonly attempt: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
  /** The provider's id of the response or the request, if it sent one. */
  readonly upstreamId?: string;
  readonly askedAtMs: number;
  /**
   * `ok`, `client_left`, `crash`, or the cause of the failure
   * (ext-proc/delivery/provider/provider-failure.ts).
   */
  readonly result: string;
  readonly reason: UnchargedReason;
  /** Tokens that the provider may bill. Absent: none, or unknown. */
  readonly tokens?: AttemptTokens;
  /** Cost of these tokens at the provider. Absent: the target has no costs. */
  readonly costNanoUsd?: NanoUsd;
  /** Loss of the operator that is booked with the row: the price for the customer. */
  readonly loss?: Pick<Loss, 'reason' | 'amountNanoUsd'>;
}

export interface AttemptTokens {
  readonly usage: LoggedUsage;
  /** Source of the count: the provider, our tokenizer, or the length of the text. */
  readonly source: 'reported' | 'counted' | 'estimated';
}

/** Stores uncharged attempts as long as the request log. */
export interface ProviderAttempts {
  /** Buffers an attempt to be written soon. If too many wait, drops and counts it. Never throws. */
  record(attempt: ProviderAttempt): void;
}

export interface ProviderAttemptStore {
  /** Writes each attempt once, by generation and number; otherwise as RequestLogStore.write(). */
  write(batch: readonly ProviderAttempt[]): Promise<{ readonly refused: number }>;
}
