import type { Empty } from './empty.ts';

export interface OrganizationView {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: string;
  /** What requests in flight hold, as the gateway processes reported it seconds ago. */
  readonly heldNanoUsd: string;
  readonly totalCreditsNanoUsd: string;
  readonly totalUsageNanoUsd: string;
  readonly spentTodayNanoUsd: string;
  readonly limits: OrganizationLimits;
}

/** Absent: no limit of its own. */
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
  /** Start of each step: an hour for 24h, six hours for 7d, a UTC day for 30d. The last step is under way. */
  readonly stepStartsMs: readonly number[];
  /** The largest by spend, at most 8, largest first; then all others together, if there are any. */
  readonly series: readonly OverviewSeries[];
  readonly totals: OverviewTotals;
  /** The same of the range before, which is as long and whole, for comparison. */
  readonly before: OverviewTotals;
}

export interface OverviewSeries {
  /** Model id or key id; absent: all others together. */
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
  /** Of those requests. */
  readonly failures: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Time to the first event, estimated from buckets; absent: no completion in the range. */
  readonly firstEventP50Ms?: number;
  readonly firstEventP95Ms?: number;
  /** The most frequent failures, at most 5. */
  readonly failureCodes: readonly { readonly code: string; readonly requests: number }[];
}

export interface OrganizationApi {
  'GET /api/organizations/:organization': { query: Empty; answer: OrganizationView };
  'GET /api/organizations/:organization/overview': {
    query: { range: OverviewRange; by: OverviewGroup };
    answer: Overview;
  };
}
