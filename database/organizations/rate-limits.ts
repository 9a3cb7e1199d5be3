import { present } from '#core/present.ts';
import type { KeyLimits, RateLimits } from '#core/principal.ts';

type Change<Limits> = { readonly [L in keyof Limits]?: Limits[L] | null };

/** Applies a change of a value. Absent: unchanged. `null`: removed. */
export function afterChange<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined);
}

export function changedLimits(before: RateLimits, change: Change<RateLimits>): RateLimits {
  return present({
    requestsPerMinute: afterChange(before.requestsPerMinute, change.requestsPerMinute),
    tokensPerMinute: afterChange(before.tokensPerMinute, change.tokensPerMinute),
    dailyBudgetNanoUsd: afterChange(before.dailyBudgetNanoUsd, change.dailyBudgetNanoUsd),
  });
}

export function changedKeyLimits(before: KeyLimits, change: Change<KeyLimits>): KeyLimits {
  const budgets = present({
    monthlyBudgetNanoUsd: afterChange(before.monthlyBudgetNanoUsd, change.monthlyBudgetNanoUsd),
    lifetimeBudgetNanoUsd: afterChange(before.lifetimeBudgetNanoUsd, change.lifetimeBudgetNanoUsd),
  });
  return { ...changedLimits(before, change), ...budgets };
}

/** Limits from the columns `rpm`, `tpm` and `daily_budget_nano_usd`, which pg returns as text. */
export function limitsOf(rpm: string | null, tpm: string | null, dailyBudget: string | null): RateLimits {
  return {
    ...(rpm === null ? {} : { requestsPerMinute: Number(rpm) }),
    ...(tpm === null ? {} : { tokensPerMinute: Number(tpm) }),
    ...(dailyBudget === null ? {} : { dailyBudgetNanoUsd: BigInt(dailyBudget) }),
  };
}

/** SQL of columns `rpm`, `tpm`, `daily_budget_nano_usd`, named like members of the limits. */
export const limitColumns = (of: string): string =>
  `${of}.rpm::float8 as "requestsPerMinute", ${of}.tpm::float8 as "tokensPerMinute", ${of}.daily_budget_nano_usd as "dailyBudgetNanoUsd"`;

/** Moves the limits of a row into its member `limits`. */
export function withLimits<Row extends KeyLimits>(row: Row) {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd, ...record } = row;
  const { monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd, ...others } = record;
  const rates = { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd };
  return { ...others, limits: present({ ...rates, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd }) };
}

/** Adds the budgets of the columns that only keys have. */
export function withKeyBudgets(limits: RateLimits, monthly: string | null, lifetime: string | null): KeyLimits {
  if (monthly === null && lifetime === null) return limits;
  return {
    ...limits,
    ...(monthly === null ? {} : { monthlyBudgetNanoUsd: BigInt(monthly) }),
    ...(lifetime === null ? {} : { lifetimeBudgetNanoUsd: BigInt(lifetime) }),
  };
}
