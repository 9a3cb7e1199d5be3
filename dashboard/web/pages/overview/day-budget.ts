const DAY_MS = 86_400_000;

export interface DayBudget {
  readonly spentNanoUsd: string;
  readonly budgetNanoUsd: string;
  readonly leftNanoUsd: string;
  /** 0 to 1, for the bar. */
  readonly fraction: number;
  readonly level: 'fine' | 'near' | 'used';
}

/** From here on the bar warns: a few large requests may be refused before all of it is spent. */
const NEAR = 0.8;

/** How much of today's budget is spent. A budget may have been lowered below what was spent; a budget of nothing is used up. */
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

/** The next 00:00 UTC, when daily budgets begin anew. */
export function nextResetMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}
