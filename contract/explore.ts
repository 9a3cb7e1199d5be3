/**
 * The explorer: one filter for charts, tables, the list of requests, its CSV and its live tail.
 *
 * In a URL a list is a parameter that is repeated, `models=a&models=b`.
 */

/** Each value of a list, and the number of its values, have these bounds. */
export const MOST_FILTER_VALUES = 50;
export const MOST_FILTER_CHARACTERS = 600;

/** Ranges of the explorer. */
export const SHORTEST_EXPLORED_MS = 60_000;
export const LONGEST_EXPLORED_MS = 400 * 86_400_000;

/** `4xx` is without 499, with which clients left before there was a response. */
export const STATUS_CLASSES = ['2xx', '4xx', '5xx', '499'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

/**
 * All fields must match. A list matches if one of its values does; an empty value, `''`, matches
 * requests that have none: no code, no user, no provider, or no model of the configuration.
 */
export interface ExploreFilter {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
  /** Ids. */
  readonly keys?: readonly string[];
  readonly models?: readonly string[];
  /** Error codes. */
  readonly codes?: readonly string[];
  readonly statusClasses?: readonly StatusClass[];
  /**
   * `failed` requests have a code, also those with status 200 whose stream broke. A client that
   * left before the response (status 499, no code) is neither.
   */
  readonly outcome?: 'succeeded' | 'failed';
  /** `user` of the request: end users, as the client named them. */
  readonly users?: readonly string[];
  /**
   * `name=value` of the request's `metadata`; the name ends at the first `=`. Values of one name
   * are alternatives, different names must all match.
   */
  readonly metadata?: readonly string[];
  readonly providers?: readonly string[];
  /** Ids. Only for operators, over all organizations. */
  readonly organizations?: readonly string[];
  readonly streamed?: boolean;
  /** Decimal text. */
  readonly minCostNanoUsd?: string;
  readonly minDurationMs?: number;
}

/** `organization` only for operators, over all organizations. */
export const GROUPINGS = ['none', 'model', 'key', 'code', 'status', 'user', 'provider', 'organization'] as const;
/** `metadata.team`: by that member. */
export type ExploreGrouping = (typeof GROUPINGS)[number] | `metadata.${string}`;

export interface ExploreInput extends ExploreFilter {
  readonly fromMs: number;
  /** May be in the future: a whole day that has begun, for example. */
  readonly toMs: number;
  readonly by: ExploreGrouping;
  /** Adds `before`. */
  readonly compare?: boolean;
}

export interface Explore {
  /** From a minute to a day. The range is widened to whole steps; those of days are UTC days. */
  readonly stepMs: number;
  /** The last step may be in progress. */
  readonly stepStartsMs: readonly number[];
  /** At most 8, largest spend first, then the sum of the others, if any. One for `none`. */
  readonly series: readonly ExploreSeries[];
  /** At most 100 with most spend. */
  readonly groups: readonly ExploreGroup[];
  /** The number of all groups. */
  readonly groupCount: number;
  readonly totals: ExploreTotals;
  /** The preceding range of the same length, if `compare` asked for it. */
  readonly before?: { readonly totals: ExploreTotals; readonly steps: ExploreSteps };
  /**
   * True for ranges by end user that are too long to read each request: sums of the ledger, by UTC
   * day. `requests` are those that were charged; `failures` and times are not known.
   */
  readonly chargedOnly?: true;
  /**
   * Present if not every request could be read: since when the figures are complete. Those of
   * earlier steps are too low.
   */
  readonly partial?: { readonly completeFromMs: number };
}

/** What a group is: a key, a model, an error code and so on. */
export interface ExploreGroupName {
  /** The value for the filter. Absent: the sum of the others. Empty: requests that have none. */
  readonly id?: string;
  /** Name of the key or organization, otherwise the id. */
  readonly label: string;
}

export interface ExploreSeries extends ExploreGroupName {
  readonly steps: ExploreSteps;
}

export interface ExploreGroup extends ExploreGroupName {
  readonly totals: ExploreTotals;
  /** By organization. */
  readonly balanceNanoUsd?: string;
}

/** The values of each figure, one for each step. Null: the step has none. */
export type ExploreSteps = {
  readonly [Name in keyof ExploreTotals]: readonly (Required<ExploreTotals>[Name] | null)[];
};

export interface ExploreTotals {
  readonly requests: number;
  readonly failures: number;
  readonly costNanoUsd: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** A part of promptTokens. */
  readonly cachedTokens: number;
  /** Time to the first event, estimated from buckets. Absent without any completion. */
  readonly firstEventP50Ms?: number;
  readonly firstEventP95Ms?: number;
  /**
   * Output of streams after their first event. Absent without any, and where only sums were read.
   */
  readonly tokensPerSecond?: number;
  /**
   * Only for operators, over all organizations. What providers are paid for the requests whose cost
   * is known, and the part of `costNanoUsd`, the revenue, that these requests brought: the known
   * margin is the difference, and `knownRevenueNanoUsd / costNanoUsd` the share for which it is
   * known. Uncharged attempts and losses are in the report of costs alone.
   */
  readonly providerCostNanoUsd?: string;
  readonly knownRevenueNanoUsd?: string;
}

export interface ExploreApi {
  'GET /api/organizations/:organization/explore': { query: ExploreInput; response: Explore };
  /** Over all organizations. */
  'GET /api/explore': { query: ExploreInput; response: Explore };
}
