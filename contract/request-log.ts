import type { z } from 'zod';
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
  readonly address: string;
  /** `user` of the request, as the client named it. */
  readonly user?: string;
  readonly provider?: string;
  readonly cachedTokens?: number;
  /** For operators, over all organizations. */
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
  /** Absent: nothing was charged, or the charge is not booked yet. */
  readonly charge?: ChargeView;
}

/** A charge with everything that it was made from. */
export interface ChargeView {
  readonly usage: TokensView;
  /** True if the provider reported no tokens, and the gateway counted them. */
  readonly usageCounted: boolean;
  /** Prices of the entry that applied. */
  readonly prices: PricesJson;
  /** Absent: the default tier. */
  readonly pricedTier?: string;
  /** Absent: the entry has no such bound. */
  readonly pricedAboveTokens?: number;
  /** As the provider named it. */
  readonly serviceTier?: string;
  /** At most the hold, and at most what the balance paid for. */
  readonly costNanoUsd: string;
  readonly holdNanoUsd: string;
}

/**
 * The filter of the request log; all fields must match. The address of the page (RequestsUrlState)
 * becomes a filter, a filter with a cursor becomes an input (RequestPageInput), and an input in its
 * organization becomes a query of the database (RequestPageQuery).
 */
export type RequestFilter = Readonly<z.infer<typeof everyRequestFilter>>;
/** For operators, over all organizations. */
export const everyRequestFilter = exploreFilter.extend({
  /**
   * A request id (x-request-id) or a generation id. Overrides the rest of the filter and the
   * paging.
   */
  search: textField.exactOptional(),
});
export const requestFilter = everyRequestFilter.omit({ organizations: true });

export type RequestPageInput = Readonly<z.infer<typeof everyRequestInput>>;
export const everyRequestInput = everyRequestFilter.extend({
  before: idOf('log').exactOptional(),
  /**
   * Only requests newer than that id, for following the log. A request is added within a second
   * after its end, at its time of arrival: a long one below newer rows. So follow from some minutes
   * back, by id.
   */
  after: idOf('log').exactOptional(),
});
export const requestPageInput = everyRequestInput.omit({ organizations: true });

export interface RequestPage {
  /** Newest first. */
  readonly requests: readonly RequestView[];
  /** Value of `before` for the next, older page. Absent on the last one. */
  readonly next?: string;
  /**
   * Present if the search ended before the page was full: the log was searched back to this moment,
   * and `next` continues from there.
   */
  readonly searchedToMs?: number;
  /**
   * Number of omitted requests that match the filter; the same on every page. A key has at most so
   * many rows of refused requests in a minute.
   */
  readonly leftOut: number;
  /** Present if there were too many to count: older ones are not in `leftOut`. */
  readonly leftOutSinceMs?: number;
}

export interface RequestLogApi {
  'GET /api/organizations/:organization/requests': { query: RequestPageInput; response: RequestPage };
  /** Over all organizations, for operators. */
  'GET /api/requests': { query: RequestPageInput; response: RequestPage };
  'GET /api/organizations/:organization/requests/:request': { query: Empty; response: RequestDetail };
}
