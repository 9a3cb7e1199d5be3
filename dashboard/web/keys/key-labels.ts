import type { KeyRestrictions, KeyView, ScopeName } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { briefSettings, formatShortDate } from '../format/format.ts';

export const SCOPE_LABELS: Readonly<Record<ScopeName, { readonly title: string; readonly means: string }>> = {
  chat: { title: 'Chat', means: 'Send chat completions, which cost money.' },
  'usage:read': { title: 'Read usage', means: 'Read balance, usage and single requests. Costs nothing.' },
};

/** Restrictions as short texts: `2 models`, `60 rpm`, `$5/day`. Empty: unrestricted. */
export function restrictionLabels(key: KeyRestrictions, nowMs: number): string[] {
  return [
    countLabel(key.models ?? [], 'models'),
    countLabel(key.ipRanges ?? [], 'addresses'),
    ...briefSettings(KEY_SETTINGS, key),
    key.expiresAtMs === undefined ? undefined : expiryLabel(key.expiresAtMs, nowMs),
  ].filter((words) => words !== undefined);
}

/** The only item, or the number of items. Undefined without any. */
export function countLabel(items: readonly string[], what: string): string | undefined {
  return items.length < 2 ? items[0] : `${items.length} ${what}`;
}

function expiryLabel(expiresAtMs: number, nowMs: number): string {
  return `${expiresAtMs <= nowMs ? 'expired' : 'expires'} ${formatShortDate(expiresAtMs, nowMs)}`;
}

/** A key without its secret: `sk-gw-…ab12`. */
export function maskedKey({ last4 }: Pick<KeyView, 'last4'>): string {
  return `sk-gw-…${last4}`;
}

export function keyChoice({ id, name, last4 }: KeyView): { readonly value: string; readonly label: string } {
  return { value: id, label: `${name} (${maskedKey({ last4 })})` };
}

/** Fields of the spend and budget of a period, and the words behind the budget. */
const PERIODS = {
  day: { spent: 'spentTodayNanoUsd', budget: 'dailyBudgetNanoUsd', words: '/day' },
  month: { spent: 'spentThisMonthNanoUsd', budget: 'monthlyBudgetNanoUsd', words: '/month' },
  lifetime: { spent: 'spentInLifetimeNanoUsd', budget: 'lifetimeBudgetNanoUsd', words: ' in total' },
} as const;
export type Period = keyof typeof PERIODS;

/** Spend and budget of a period. Absent: unknown, or none. */
export function spendOf(key: KeyView, period: Period) {
  const { spent, budget, words } = PERIODS[period];
  return { spentNanoUsd: key[spent], budgetNanoUsd: key[budget], words };
}

/** A budget of zero counts as used up. */
export function spentFraction(spentNanoUsd: string, budgetNanoUsd: string): number {
  const budget = Number(budgetNanoUsd);
  return budget === 0 ? 1 : Number(spentNanoUsd) / budget;
}

export function hasEnded({ state }: Pick<KeyView, 'state'>): boolean {
  return state === 'revoked' || state === 'expired';
}
