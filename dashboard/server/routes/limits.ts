import type { NanoUsd } from '#core/money.ts';
import { present } from '#core/present.ts';
import type { KeyLimits, RateLimits } from '#core/principal.ts';

/** Limits of keys and organizations: the page has amounts as decimal text, the store as bigint. */
type View<Limits> = { readonly [L in keyof Limits]: Exclude<Limits[L], undefined> extends bigint ? string : Limits[L] };

export function limitsView({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd }: RateLimits): View<RateLimits> {
  return present({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd: dailyBudgetNanoUsd?.toString() });
}

export function keyLimitsView(limits: KeyLimits): View<KeyLimits> {
  const monthlyBudgetNanoUsd = limits.monthlyBudgetNanoUsd?.toString();
  const lifetimeBudgetNanoUsd = limits.lifetimeBudgetNanoUsd?.toString();
  return { ...limitsView(limits), ...present({ monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd }) };
}

export function storedLimits({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd }: View<RateLimits>): RateLimits {
  return present({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd: amountOf(dailyBudgetNanoUsd) });
}

export function storedKeyLimits(limits: View<KeyLimits>): KeyLimits {
  const monthlyBudgetNanoUsd = amountOf(limits.monthlyBudgetNanoUsd);
  const lifetimeBudgetNanoUsd = amountOf(limits.lifetimeBudgetNanoUsd);
  return { ...storedLimits(limits), ...present({ monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd }) };
}

function amountOf(text: string | undefined): NanoUsd | undefined {
  return text === undefined ? undefined : BigInt(text);
}
