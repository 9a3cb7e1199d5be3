import type { z } from 'zod';
import type { Api } from '#core/config/apis.ts';
import type { PricesJson } from '#core/price-table-text.ts';
import { exploreFilter } from './explore-filter.ts';
import { type Empty, idOf, textField } from './fields.ts';
import type { TokensView } from './money.ts';

export interface RequestView {
  readonly id: string;
  readonly atMs: number;
  readonly keyId: string;
  readonly keyName: string;
  readonly model?: string;
  readonly status: number;
  readonly code?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly costNanoUsd?: string;
  readonly firstEventMs?: number;
  readonly durationMs: number;
  readonly streamed: boolean;
  readonly route: string;
  /** API that the client spoke. Absent for reads. */
  readonly api?: Api;
  readonly address: string;
  /** The request's `user`, by which the client names its end user. */
  readonly user?: string;
  readonly provider?: string;
  readonly cachedTokens?: number;
  /** Only for operators, over all organizations. */
  readonly organizationId?: string;
  readonly organizationName?: string;
}

export interface RequestDetail extends RequestView {
  readonly requestId: string;
  readonly generationId?: string;
  readonly userAgent?: string;
  readonly reasoningTokens?: number;
  readonly replayed: boolean;
  readonly clientGone: boolean;
  readonly keyLast4?: string;
  /** `metadata` of the request, as JSON. */
  readonly metadata?: string;
  /** Absent: nothing was charged, or the charge is not committed yet. */
  readonly charge?: ChargeView;
  /** Only for operators. Absent: none is recorded. */
  readonly unchargedAttempts?: readonly UnchargedAttemptView[];
}

/** A call of a provider for which nobody was charged. */
export interface UnchargedAttemptView {
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
  /** `ok`, or why it failed. */
  readonly result: string;
}

/** A charge with all that it was computed from. */
export interface ChargeView {
  readonly usage: TokensView;
  /** True if the provider reported no usage, so the gateway counted the tokens. */
  readonly usageCounted: boolean;
  /** Prices of the price entry that applied. */
  readonly prices: PricesJson;
  /** Service tier whose prices applied. Absent: the default tier. */
  readonly pricedTier?: string;
  /** Bound of the price entry (`above`) that applied. Absent: it has none. */
  readonly pricedAboveTokens?: number;
  /** Service tier, as the provider named it. */
  readonly serviceTier?: string;
  /** At most the hold, and at most what the balance covered. */
  readonly costNanoUsd: string;
  readonly holdNanoUsd: string;
}

/**
 * The filter of the request log. All fields must match. The address of the page (RequestsUrlState)
 * becomes a filter, a filter with a cursor becomes an input (RequestPageInput), and an input in its
 * organization becomes a query of the database (RequestPageQuery).
 */
export type RequestFilter = Readonly<z.infer<typeof everyRequestFilter>>;
/** Only for operators, over all organizations. */
export const everyRequestFilter = exploreFilter.extend({
  /** A request id (x-request-id) or generation id. Overrides the rest of filter and paging. */
  search: textField.exactOptional(),
});
export const requestFilter = everyRequestFilter.omit({ organizations: true });

export type RequestPageInput = Readonly<z.infer<typeof everyRequestInput>>;
export const everyRequestInput = everyRequestFilter.extend({
  before: idOf('log').exactOptional(),
  /**
   * Only requests with newer ids, for following the log. A request is added within a second after
   * its end, but sorted by its arrival, so a long one appears below newer rows. Clients should
   * therefore follow from some minutes back and drop ids that they have.
   */
  after: idOf('log').exactOptional(),
});
export const requestPageInput = everyRequestInput.omit({ organizations: true });

export interface RequestPage {
  /** Newest first. */
  readonly requests: readonly RequestView[];
  /** Value of `before` for the next, older page. Absent on the last one. */
  readonly next?: string;
  /** Present if the search ended early: searched back to this time. `next` continues from there. */
  readonly searchedToMs?: number;
  /**
   * Number of omitted requests that match the filter, the same on every page. Refused requests are
   * omitted beyond a number of rows for each key and minute.
   */
  readonly leftOut: number;
  /** Present if there were too many to count. Requests before this time are not in `leftOut`. */
  readonly leftOutSinceMs?: number;
}

export interface RequestLogApi {
  'GET /api/organizations/:organization/requests': { query: RequestPageInput; response: RequestPage };
  /** Over all organizations, for operators. */
  'GET /api/requests': { query: RequestPageInput; response: RequestPage };
  'GET /api/organizations/:organization/requests/:request': { query: Empty; response: RequestDetail };
}
