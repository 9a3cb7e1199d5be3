import type { KeyRestrictions, KeyView, ScopeName } from '../../contract/keys.ts';
import { formatMoney } from '../format/format-money.ts';
import { formatCompact } from '../format/format-number.ts';

const dayOfYear = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric' });
const dayOfAnyYear = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric' });

export const SCOPE_LABELS: Readonly<Record<ScopeName, { readonly title: string; readonly means: string }>> = {
  chat: { title: 'Chat', means: 'Send chat completions, which cost money.' },
  'usage:read': { title: 'Read usage', means: 'Read balance, usage and single requests. Costs nothing.' },
};

/** `Dec 3`, with the year where it is another one. */
export function shortDate(atMs: number, nowMs: number): string {
  const sameYear = new Date(atMs).getFullYear() === new Date(nowMs).getFullYear();
  return (sameYear ? dayOfYear : dayOfAnyYear).format(atMs);
}

/** `$5`, `$0.25`, `$1,000`: an amount that somebody chose, without cents that say nothing. */
export function shortMoney(nanoUsd: string): string {
  return formatMoney(nanoUsd).replace(/\.00$/, '');
}

/** What is asked of a key, in a few words each: `2 models`, `60 rpm`, `$5/day`. Empty: it is not restricted. */
export function restrictionWords(key: KeyRestrictions, nowMs: number): string[] {
  return [
    countWords(key.models ?? [], 'models'),
    countWords(key.ipRanges ?? [], 'addresses'),
    ...limitWords(key),
    key.expiresAtMs === undefined ? undefined : expiryWords(key.expiresAtMs, nowMs),
  ].filter((words) => words !== undefined);
}

/** The one that it is, or how many there are; undefined of none. */
export function countWords(items: readonly string[], what: string): string | undefined {
  return items.length < 2 ? items[0] : `${items.length} ${what}`;
}

type Limits = Loose<Pick<KeyRestrictions, 'requestsPerMinute' | 'tokensPerMinute' | 'dailyBudgetNanoUsd'>>;
type Loose<T> = { readonly [K in keyof T]: T[K] | undefined };

/** `60 rpm`, `$5/day`: no more than there are. */
export function limitWords({ requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd }: Limits): string[] {
  return [
    requestsPerMinute === undefined ? undefined : `${formatCompact(requestsPerMinute)} rpm`,
    tokensPerMinute === undefined ? undefined : `${formatCompact(tokensPerMinute)} tpm`,
    dailyBudgetNanoUsd === undefined ? undefined : `${shortMoney(dailyBudgetNanoUsd)}/day`,
  ].filter((word) => word !== undefined);
}

function expiryWords(expiresAtMs: number, nowMs: number): string {
  return `${expiresAtMs <= nowMs ? 'expired' : 'expires'} ${shortDate(expiresAtMs, nowMs)}`;
}

/** How a key is shown where its secret never is: `sk-gw-…ab12`. */
export function maskedKey({ last4 }: Pick<KeyView, 'last4'>): string {
  return `sk-gw-…${last4}`;
}

/** A budget of zero is spent from the start. */
export function spentFraction(spentNanoUsd: string, budgetNanoUsd: string): number {
  const budget = Number(budgetNanoUsd);
  return budget === 0 ? 1 : Number(spentNanoUsd) / budget;
}

export function hasEnded({ state }: Pick<KeyView, 'state'>): boolean {
  return state === 'revoked' || state === 'expired';
}
