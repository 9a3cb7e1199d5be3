import { principalWith } from '../fixtures/principal.ts';

/**
 * The budgets of every key in a history. The monthly one is scarcest in the first month, the
 * lifetime one in the second.
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
