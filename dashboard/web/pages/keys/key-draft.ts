import type { KeyChange, KeyRestrictions, ScopeName } from '#contract/keys.ts';
import { present } from '#core/present.ts';

/** Values of the form. Empty lists and `undefined` do not restrict. */
export interface KeyDraft {
  readonly name: string;
  readonly note: string;
  readonly scopes: readonly ScopeName[];
  readonly models: readonly string[];
  readonly ipRanges: readonly string[];
  readonly expiresAtMs: number | undefined;
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly dailyBudgetNanoUsd: string | undefined;
  readonly monthlyBudgetNanoUsd: string | undefined;
  readonly lifetimeBudgetNanoUsd: string | undefined;
}

export type KeyField = keyof KeyDraft;

export const NEW_KEY: KeyDraft = {
  name: '',
  note: '',
  scopes: ['chat'],
  models: [],
  ipRanges: [],
  expiresAtMs: undefined,
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  dailyBudgetNanoUsd: undefined,
  monthlyBudgetNanoUsd: undefined,
  lifetimeBudgetNanoUsd: undefined,
};

export function draftOf(key: KeyRestrictions): KeyDraft {
  return {
    name: key.name,
    note: key.note ?? '',
    scopes: key.scopes,
    models: key.models ?? [],
    ipRanges: key.ipRanges ?? [],
    expiresAtMs: key.expiresAtMs,
    requestsPerMinute: key.requestsPerMinute,
    tokensPerMinute: key.tokensPerMinute,
    dailyBudgetNanoUsd: key.dailyBudgetNanoUsd,
    monthlyBudgetNanoUsd: key.monthlyBudgetNanoUsd,
    lifetimeBudgetNanoUsd: key.lifetimeBudgetNanoUsd,
  };
}

/** The form as the server expects it. */
export function restrictionsOf(draft: KeyDraft): KeyRestrictions {
  const { expiresAtMs, requestsPerMinute, tokensPerMinute } = draft;
  const { dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd } = draft;
  const note = draft.note.trim();
  return {
    name: draft.name.trim(),
    scopes: draft.scopes,
    ...(note === '' ? {} : { note }),
    ...(draft.models.length === 0 ? {} : { models: draft.models }),
    ...(draft.ipRanges.length === 0 ? {} : { ipRanges: draft.ipRanges }),
    ...present({ expiresAtMs, requestsPerMinute, tokensPerMinute }),
    ...present({ dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd }),
  };
}

/**
 * Only the changed fields, so that concurrent changes are kept, and an unchanged limit above that
 * of the organization is not refused. Empty without a change.
 */
export function changeOf(key: KeyRestrictions, draft: KeyDraft): KeyChange {
  const before = restrictionsOf(draftOf(key));
  const after = restrictionsOf(draft);
  const fields = (Object.keys(draft) as KeyField[]).filter((field) => !isSame(before[field], after[field]));
  return Object.fromEntries(fields.map((field) => [field, after[field] ?? null]));
}

export function isEmptyChange(change: KeyChange): boolean {
  return Object.keys(change).length === 0;
}

/** Lists are sets: their order does not count. */
function isSame(before: unknown, after: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(after)) return before === after;
  const known = new Set<unknown>(before);
  return known.size === new Set(after).size && after.every((item) => known.has(item));
}

/** Problems beyond those that single fields report. */
export function draftProblems(
  draft: KeyDraft,
  nowMs: number,
  before?: KeyRestrictions,
): Partial<Record<KeyField, string>> {
  const { expiresAtMs } = draft;
  const isPast = expiresAtMs !== undefined && expiresAtMs <= nowMs && expiresAtMs !== before?.expiresAtMs;
  return {
    ...(draft.name.trim() === '' ? { name: 'Give the key a name.' } : {}),
    ...(draft.scopes.length === 0 ? { scopes: 'Choose at least one.' } : {}),
    ...(isPast ? { expiresAtMs: 'Choose a time in the future.' } : {}),
  };
}
