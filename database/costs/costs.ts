import type { UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AttemptTokens, UnchargedReason } from './provider-attempts.ts';

export type CostGroup = 'model' | 'provider' | 'organization';

/** Query of a cost report, by the arrival of requests. */
export interface CostQuery {
  readonly sinceMs: number;
  /** Exclusive. Absent: until now. */
  readonly untilMs?: number;
  readonly by: CostGroup;
}

export interface CostSums {
  readonly requests: number;
  readonly revenueNanoUsd: NanoUsd;
  /** Sum of what the models' own prices would have charged. */
  readonly listNanoUsd: NanoUsd;
  /** Payable to providers, with uncharged attempts. Absent: a used target has no costs. */
  readonly costNanoUsd?: NanoUsd;
  readonly lossesNanoUsd: NanoUsd;
}

export interface CostRow extends CostSums {
  /** Name of a model or provider, or id of an organization. */
  readonly subject: string;
}

/** Revenue less cost. `undefined`: the cost is unknown. */
export function marginNanoUsd({ revenueNanoUsd, costNanoUsd }: CostSums): NanoUsd | undefined {
  return costNanoUsd === undefined ? undefined : revenueNanoUsd - costNanoUsd;
}

/** Range of a usage report. Uncharged attempts are kept like the request log, charges forever. */
export interface ProviderUsageQuery {
  /** Both days are inclusive. */
  readonly firstDay: UtcDay;
  readonly lastDay: UtcDay;
  /** Names that providers use. */
  readonly models: readonly string[];
  /** Absent: all providers. */
  readonly provider?: string;
}

/** Sum over the attempts that have the first four members in common. */
export interface ProviderUsageRow {
  /** Day of the attempt, or of the arrival of a charged request. */
  readonly day: UtcDay;
  readonly model: string;
  /** Absent: the attempts were charged. */
  readonly reason?: UnchargedReason;
  /** Absent: the tokens are unknown. */
  readonly source?: AttemptTokens['source'];
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}
