import type { KeyRestrictions, KeyStateName, KeyView, ScopeName } from '../../../contract/keys.ts';
import { formatMoney } from '../../format/format-money.ts';
import { formatCompact } from '../../format/format-number.ts';

const dayOfYear = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric' });
const dayOfAnyYear = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric' });

export const STATE_WORDS: Readonly<Record<KeyStateName, string>> = {
  usable: 'Usable',
  revoking: 'Revoking',
  expired: 'Expired',
  revoked: 'Revoked',
};

export const SCOPE_WORDS: Readonly<Record<ScopeName, { readonly title: string; readonly means: string }>> = {
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
    key.models && listWords(key.models, 'models'),
    key.ipRanges && listWords(key.ipRanges, 'addresses'),
    key.requestsPerMinute !== undefined && `${formatCompact(key.requestsPerMinute)} rpm`,
    key.tokensPerMinute !== undefined && `${formatCompact(key.tokensPerMinute)} tpm`,
    key.dailyBudgetNanoUsd !== undefined && `${shortMoney(key.dailyBudgetNanoUsd)}/day`,
    key.expiresAtMs !== undefined && expiryWords(key.expiresAtMs, nowMs),
  ].filter((words) => typeof words === 'string');
}

/** The one that it is, or how many there are. */
function listWords(items: readonly string[], what: string): string {
  const [first, ...others] = items;
  return first !== undefined && others.length === 0 ? first : `${items.length} ${what}`;
}

function expiryWords(expiresAtMs: number, nowMs: number): string {
  return `${expiresAtMs <= nowMs ? 'expired' : 'expires'} ${shortDate(expiresAtMs, nowMs)}`;
}

/** How a key is shown where its secret never is: `sk-gw-…ab12`. */
export function maskedKey({ last4 }: Pick<KeyView, 'last4'>): string {
  return `sk-gw-…${last4}`;
}
