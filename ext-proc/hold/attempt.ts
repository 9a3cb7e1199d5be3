import type { PriceTable, ServedUsage, TokenSource } from '#core/pricing.ts';
import type { UnchargedAttemptRow } from '#database/costs/provider-attempts.ts';

export interface Attempt {
  readonly provider: string;
  /** `ok` or why the attempt failed. */
  readonly result: string;
  /** Present: the attempt failed for the operator's own account at the provider. */
  readonly account?: AccountErrorKind | undefined;
  /** Time from the call to the end of the response, or to the failure. */
  readonly durationMs?: number;
  /** Time from the call to the first event of a stream, or to the head of another response. */
  readonly firstEventAfterCallMs?: number;
}

/**
 * Part of the operator's own account at a provider that an error is about: its credentials and
 * permissions, or its money and quota. The client may not see such an error and cannot resolve it.
 */
export type AccountErrorKind = 'credentials' | 'funds';

/** Attempt for which no customer is charged. */
export interface UnchargedAttempt
  extends Pick<UnchargedAttemptRow, 'attempt' | 'provider' | 'providerModel' | 'upstreamId' | 'askedAtMs'> {
  readonly costTable?: PriceTable | undefined;
  /** Service tier in the provider's request, if any. */
  readonly sentTier?: string | undefined;
  /** `ok` if the response was complete, otherwise why the attempt failed. */
  readonly result: string;
  readonly work: ProviderWork;
  /** Tokens that the provider may bill for `some` work. */
  readonly tokens?: ServedUsage & { readonly source: TokenSource };
}

/**
 * Work of a provider for a failed attempt. `none`: it did not get the request. `refused`: it
 * reported an error. `some`: it worked at least on the prompt, as far as known.
 */
export type ProviderWork = 'none' | 'refused' | 'some';
