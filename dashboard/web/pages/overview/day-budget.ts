const DAY_MS = 86_400_000;

export interface DayBudget {
  readonly spentNanoUsd: string;
  readonly budgetNanoUsd: string;
  readonly leftNanoUsd: string;
  /** From 0 to 1. */
  readonly fraction: number;
  readonly level: 'fine' | 'near' | 'used';
}

/** The bar warns from here on: large requests may be refused before the budget is used up. */
const NEAR = 0.8;

/**
 * The used part of today's budget. A lowered budget may be below the spend; a budget of zero is
 * used up.
 */
export function dayBudget(spentNanoUsd: string, budgetNanoUsd: string): DayBudget {
  const spent = BigInt(spentNanoUsd);
  const budget = BigInt(budgetNanoUsd);
  const left = spent >= budget ? 0n : budget - spent;
  const fraction = left === 0n ? 1 : Number(spent) / Number(budget);
  return {
    spentNanoUsd,
    budgetNanoUsd,
    leftNanoUsd: left.toString(),
    fraction,
    level: left === 0n ? 'used' : fraction >= NEAR ? 'near' : 'fine',
  };
}

/** The next 00:00 UTC, when daily budgets are reset. */
export function nextResetMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}
