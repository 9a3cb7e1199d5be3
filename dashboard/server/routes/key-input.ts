import type { KeyChange, KeyRestrictions } from '#contract/keys.ts';
import type { NanoUsd } from '#core/money.ts';
import { present } from '#core/present.ts';
import type { KeySettings, KeyChange as StoredKeyChange } from '#database/keys/key-records.ts';
import { storedKeyLimits } from './limits.ts';

export function storedChange(change: KeyChange): StoredKeyChange {
  const { dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd, ...rest } = change;
  const budgets = present({
    dailyBudgetNanoUsd: amountOrNull(dailyBudgetNanoUsd),
    monthlyBudgetNanoUsd: amountOrNull(monthlyBudgetNanoUsd),
    lifetimeBudgetNanoUsd: amountOrNull(lifetimeBudgetNanoUsd),
  });
  return { ...rest, ...budgets };
}

function amountOrNull(text: string | null | undefined): NanoUsd | null | undefined {
  return typeof text === 'string' ? BigInt(text) : text;
}

export function storedSettings(organizationId: string, restrictions: KeyRestrictions): KeySettings {
  const { name, note, scopes, models, ipRanges, expiresAtMs } = restrictions;
  return {
    organizationId,
    name,
    scopes,
    ...present({ note, models, ipRanges, expiresAtMs }),
    limits: storedKeyLimits(restrictions),
  };
}
