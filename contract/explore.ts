/** Types and bounds of the explorer. Its filter is in explore-filter.ts. */

import { isStorable } from '#core/visible-text.ts';

/** Bounds of a filter: the number of values in a list, and the length of each. */
export const MAX_FILTER_VALUES = 50;
export const MAX_FILTER_CHARACTERS = 600;
/** 24 days, the largest value of the request log's column. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

/** Bounds of the explorer's time range. */
export const SHORTEST_EXPLORED_MS = 60_000;
export const LONGEST_EXPLORED_MS = 400 * 86_400_000;
/** From this range on, figures are by UTC days. */
export const DAILY_FROM_MS = 24 * 86_400_000;

/** `4xx` excludes 499, which is recorded when the client disconnects before the response. */
export const STATUS_CLASSES = ['2xx', '4xx', '5xx', '499'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** `organization` is only for operators, over all organizations. */
export const GROUPINGS = ['none', 'model', 'key', 'code', 'status', 'user', 'provider', 'organization'] as const;
/** `metadata.team` groups by the member `team` of the request's metadata. */
export type ExploreGrouping = (typeof GROUPINGS)[number] | `metadata.${string}`;

export function isMetadataGrouping(value: string): value is `metadata.${string}` {
  return /^metadata\.[\s\S]{1,64}$/u.test(value) && isStorable(value);
}

/** Measures by which the largest groups are chosen. */
export const EXPLORE_RANKS = ['cost', 'requests', 'failures', 'tokens'] as const;
export type ExploreRank = (typeof EXPLORE_RANKS)[number];

export interface Explore {
  /** From a minute to a day. The range is widened to whole steps. Steps of a day are UTC days. */
  readonly stepMs: number;
  /** The last step may be in progress. */
  readonly stepStartsMs: readonly number[];
  /** The 8 largest series, then the sum of the others, if any. For `none` a single one. */
  readonly series: readonly ExploreSeries[];
  /** The 100 largest groups. */
  readonly groups: readonly ExploreGroup[];
  /** The number of all groups. */
  readonly groupCount: number;
  readonly totals: ExploreTotals;
  /** Figures of the preceding range of the same length. Present if the query has `compare`. */
  readonly before?: { readonly totals: ExploreTotals; readonly steps: ExploreSteps };
  /**
   * True if a range by end user is too long to read each request. The figures are then daily (UTC)
   * sums of the ledger: `requests` counts charged ones, and there are no `failures` and times.
   */
  readonly chargedOnly?: true;
  /** Present if not all could be read: figures are complete since then, and too low before. */
  readonly partial?: { readonly completeFromMs: number };
}

/** Identifies a group, such as a key, a model or an error code. */
export interface ExploreGroupName {
  /** The value for the filter. Absent: the sum of other groups. Empty: requests without one. */
  readonly id?: string;
  /** Name of the key or organization. For other groups the id. */
  readonly label: string;
}

export interface ExploreSeries extends ExploreGroupName {
  readonly steps: ExploreSteps;
}

export interface ExploreGroup extends ExploreGroupName {
  readonly totals: ExploreTotals;
  /** Only if grouped by organization. */
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
  /** Time to the first event, estimated from buckets. Absent if no request has one. */
  readonly firstEventP50Ms?: number;
  readonly firstEventP95Ms?: number;
  /** Output rate of streams after their first event. Absent: no streams, or only ledger sums. */
  readonly tokensPerSecond?: number;
  /**
   * Only for operators, over all organizations. `providerCostNanoUsd` is what providers are paid
   * for the requests whose cost is known, and `knownRevenueNanoUsd` the part of `costNanoUsd` (the
   * revenue) that they brought. The difference is the known margin. Uncharged attempts and losses
   * are in the cost report alone.
   */
  readonly providerCostNanoUsd?: string;
  readonly knownRevenueNanoUsd?: string;
}
