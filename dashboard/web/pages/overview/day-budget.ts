import { DAY_MS } from '#core/clock.ts';

/** Used part of today's budget. Spend may exceed a lowered budget. One of zero is used up. */
export function dayBudget(spentNanoUsd: string, budgetNanoUsd: string) {
  const spent = BigInt(spentNanoUsd);
  const budget = BigInt(budgetNanoUsd);
  const left = spent >= budget ? 0n : budget - spent;
  const fraction = left === 0n ? 1 : Number(spent) / Number(budget);
  return { spentNanoUsd, budgetNanoUsd, leftNanoUsd: left.toString(), fraction };
}

/** The next 00:00 UTC, when daily budgets are reset. */
export function nextResetMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}
