import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AttemptTokens, UnchargedReason } from './provider-attempts.ts';

export type CostGroup = 'model' | 'provider' | 'organization';

/** Range of a cost report, by the arrival of requests. */
export interface CostQuery {
  readonly sinceMs: number;
  /** Exclusive. Absent: until now. */
  readonly untilMs?: number;
  readonly by: CostGroup;
}

export interface CostSums {
  /** Charged requests. */
  readonly requests: number;
  readonly revenueNanoUsd: NanoUsd;
  /** Sum of list prices: of what the models' own prices would have charged. */
  readonly listNanoUsd: NanoUsd;
  /**
   * Amount that providers are paid, uncharged attempts included. Absent: a target that used tokens
   * had no costs.
   */
  readonly costNanoUsd?: NanoUsd;
  readonly lossesNanoUsd: NanoUsd;
}

export interface CostRow extends CostSums {
  /** A model's or provider's name, or the id of an organization. */
  readonly subject: string;
}

/** Amount that is left of the revenue. `undefined`: the cost is not known. */
export function marginNanoUsd({ revenueNanoUsd, costNanoUsd }: CostSums): NanoUsd | undefined {
  return costNanoUsd === undefined ? undefined : revenueNanoUsd - costNanoUsd;
}

/**
 * Range of a usage report: all attempts, charged or not. Attempts are kept as long as the request
 * log, charges for ever.
 */
export interface ProviderUsageQuery {
  /** Both inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  /** As providers call them. */
  readonly models: readonly string[];
  /** Absent: of all providers. */
  readonly provider?: string;
}

/** Sum over attempts with the same first four members. */
export interface ProviderUsageRow {
  /** Day of the attempt, or of the arrival of a charged request. */
  readonly day: UtcDay;
  readonly model: string;
  /** Absent: it was charged. */
  readonly reason?: UnchargedReason;
  /** Absent: nothing is known of the tokens. */
  readonly source?: AttemptTokens['source'];
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}
