import type { NanoUsd } from '#core/money.ts';
import type { LoggedUsage, TokenSource } from '#core/pricing.ts';
import type { Loss } from './losses.ts';

/** Reasons for not charging an attempt. The set is bounded, because metrics have it as a label. */
export const UNCHARGED_REASONS = [
  /** The whole request reached no provider. */
  'not_sent',
  /** The provider reported an error. Providers bill nothing for that. */
  'provider_error',
  /** The response broke off or was invalid. */
  'broken',
  'timeout',
  /** The response exceeded `limits.response_body`. */
  'response_too_large',
  /** Too many large responses were in memory. */
  'no_room',
  'client_left',
  /** A planned stop cut the response off. */
  'process_ends',
  /** The response was complete, but its charge was refused, dead-lettered or lost. */
  'not_charged',
  /** The gateway process died. */
  'crash',
] as const;

export type UnchargedReason = (typeof UNCHARGED_REASONS)[number];

/**
 * Uncharged attempt, for the comparison with the provider's bill. Charged attempts are recorded as
 * generations. No charge depends on this.
 */
export interface UnchargedAttemptRow {
  readonly generationId: string;
  /** Number within the delivery, from 1. 0: unknown, as it was recovered from the charge log. */
  readonly attempt: number;
  readonly organizationId: string;
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly providerModel: string;
  /** The provider's id of the response or the request, if it sent one. */
  readonly upstreamId?: string;
  readonly askedAtMs: number;
  /** `ok`, `client_left`, `crash`, or a cause (ext-proc/delivery/provider/provider-failure.ts). */
  readonly result: string;
  readonly reason: UnchargedReason;
  /** Tokens that the provider may bill. Absent: none, or unknown. */
  readonly tokens?: AttemptTokens;
  /** Cost of these tokens at the provider. Absent: the target has no costs configured. */
  readonly costNanoUsd?: NanoUsd;
  /** Loss of the operator that is booked together with this row: the customer's price. */
  readonly loss?: Pick<Loss, 'reason' | 'amountNanoUsd'>;
}

export interface AttemptTokens {
  readonly usage: LoggedUsage;
  readonly source: TokenSource;
}

/** Stores uncharged attempts as long as the request log. */
export interface ProviderAttempts {
  /** Queues an attempt for writing. If too many wait, drops and counts it. Never throws. */
  record(attempt: UnchargedAttemptRow): void;
}
