import type { RateLimits } from '../../core/principal.ts';

type LimitChange = { readonly [L in keyof RateLimits]?: RateLimits[L] | null };

/** Absent in the change: as it was. `null`: no longer limited. */
export function afterChange<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined);
}

export function changedLimits(before: RateLimits, change: LimitChange): RateLimits {
  const requestsPerMinute = afterChange(before.requestsPerMinute, change.requestsPerMinute);
  const tokensPerMinute = afterChange(before.tokensPerMinute, change.tokensPerMinute);
  const dailyBudgetNanoUsd = afterChange(before.dailyBudgetNanoUsd, change.dailyBudgetNanoUsd);
  return {
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...(dailyBudgetNanoUsd === undefined ? {} : { dailyBudgetNanoUsd }),
  };
}

/** Limits of the columns `rpm`, `tpm` and `daily_budget_nano_usd`, which arrive as text. */
export function limitsOf(rpm: string | null, tpm: string | null, dailyBudget: string | null): RateLimits {
  return {
    ...(rpm === null ? {} : { requestsPerMinute: Number(rpm) }),
    ...(tpm === null ? {} : { tokensPerMinute: Number(tpm) }),
    ...(dailyBudget === null ? {} : { dailyBudgetNanoUsd: BigInt(dailyBudget) }),
  };
}
