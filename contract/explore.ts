/** The explorer: what it shows, and words of its filter (explore-filter.ts). */

import { isStorable } from '#core/visible-text.ts';

/** Each value of a list, and the number of its values, have these bounds. */
export const MOST_FILTER_VALUES = 50;
export const MOST_FILTER_CHARACTERS = 600;
/** 24 days: as much as a column of the request log has. */
export const MOST_DURATION_MS = 2 ** 31 - 1;

/** Ranges of the explorer. */
export const SHORTEST_EXPLORED_MS = 60_000;
export const LONGEST_EXPLORED_MS = 400 * 86_400_000;

/** `4xx` is without 499, with which clients left before there was a response. */
export const STATUS_CLASSES = ['2xx', '4xx', '5xx', '499'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** `organization` only for operators, over all organizations. */
export const GROUPINGS = ['none', 'model', 'key', 'code', 'status', 'user', 'provider', 'organization'] as const;
/** `metadata.team`: by that member. */
export type ExploreGrouping = (typeof GROUPINGS)[number] | `metadata.${string}`;

export function isMetadataGrouping(value: string): value is `metadata.${string}` {
  return /^metadata\.[\s\S]{1,64}$/u.test(value) && isStorable(value);
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
