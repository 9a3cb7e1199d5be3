import type { Empty } from './empty.ts';

export interface OrganizationView {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: string;
  /** The sum of all holds, as the gateway processes reported it seconds ago. */
  readonly heldNanoUsd: string;
  readonly totalCreditsNanoUsd: string;
  readonly totalUsageNanoUsd: string;
  readonly spentTodayNanoUsd: string;
  readonly limits: OrganizationLimits;
  /** Absent: the models' own prices. */
  readonly priceList?: string;
}

/** Absent limits do not apply. */
export interface OrganizationLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly dailyBudgetNanoUsd?: string;
  readonly maxTokens?: number;
  readonly concurrency: number;
  readonly allowMultipleCompletions: boolean;
}

export type OverviewRange = '24h' | '7d' | '30d';
export type OverviewGroup = 'model' | 'key';

export interface Overview {
  readonly range: OverviewRange;
  /**
   * Start of each step: an hour for 24h, six hours for 7d, a UTC day for 30d. The last step is in
   * progress.
   */
  readonly stepStartsMs: readonly number[];
  /** At most 8 series, largest spend first, then the sum of the others, if any. */
  readonly series: readonly OverviewSeries[];
  readonly totals: OverviewTotals;
  /** Totals of the preceding range of the same length. */
  readonly before: OverviewTotals;
}

export interface OverviewSeries {
  /** Model id or key id. Absent for the sum of the others. */
  readonly id?: string;
  readonly label: string;
  /** One value for each step. */
  readonly costNanoUsd: readonly string[];
  readonly requests: readonly number[];
  readonly tokens: readonly number[];
}

export interface OverviewTotals {
  readonly costNanoUsd: string;
  readonly requests: number;
  /** Failed ones among the requests. */
  readonly failures: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Time to the first event, estimated from buckets. Absent without any completion. */
  readonly firstEventP50Ms?: number;
  readonly firstEventP95Ms?: number;
  /** The most frequent failures, at most 5. */
  readonly failureCodes: readonly { readonly code: string; readonly requests: number }[];
}

export interface OrganizationApi {
  'GET /api/organizations/:organization': { query: Empty; response: OrganizationView };
  'GET /api/organizations/:organization/overview': {
    query: { range: OverviewRange; by: OverviewGroup };
    response: Overview;
  };
}
