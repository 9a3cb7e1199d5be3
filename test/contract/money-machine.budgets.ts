import { principalWith } from '../fixtures/principal.ts';

/**
 * Budgets of every key in a history. In the first month that of the month binds, in the second that
 * of the lifetime.
 */
export function keyLimits(dailyBudgetNanoUsd: bigint) {
  return {
    dailyBudgetNanoUsd,
    monthlyBudgetNanoUsd: (dailyBudgetNanoUsd * 9n) / 10n,
    lifetimeBudgetNanoUsd: (dailyBudgetNanoUsd * 3n) / 2n,
  };
}

export function callerWith(keyId: string, organizationId: string, dailyBudgetNanoUsd: bigint) {
  const key = { id: keyId, limits: keyLimits(dailyBudgetNanoUsd) };
  return principalWith(key, { id: organizationId, limits: { dailyBudgetNanoUsd } });
}
