import type { KeyRestrictions } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { type Draft, draftOf } from '../../forms/draft.ts';

export type KeyDraft = Draft<KeyRestrictions>;

export const NEW_KEY: KeyDraft = draftOf(KEY_SETTINGS, { name: '', scopes: ['chat'] });

const SPANS = { '30d': '30 days', '90d': '90 days', '1y': '1 year' } as const;

export const EXPIRY_LABELS = { never: 'Never', ...SPANS, custom: 'Custom' } as const;
export type ExpiryChoice = keyof typeof EXPIRY_LABELS;

const DAYS = { '30d': 30, '90d': 90, '1y': 365, custom: 7 } as const;

/** Days from now by the reader's calendar, at the same time of day. `custom` starts with a week. */
export function expiryOf(choice: ExpiryChoice, nowMs: number): number | undefined {
  if (choice === 'never') return undefined;
  const at = new Date(nowMs);
  at.setDate(at.getDate() + DAYS[choice]);
  at.setSeconds(0, 0);
  return at.getTime();
}

/** Expiry of a replacement. `same`: the old key's expiry. */
export const REPLACEMENT_LABELS = { same: 'Same as the old key', ...SPANS, never: 'Never' } as const;
export type ReplacementEnd = keyof typeof REPLACEMENT_LABELS;

/** Part of the request. Absent: the old key's expiry. */
export function replacementExpiry(end: ReplacementEnd, nowMs: number): { readonly expiresAtMs?: number | null } {
  return end === 'same' ? {} : { expiresAtMs: expiryOf(end, nowMs) ?? null };
}

/** Hours for which the old key still works. */
export const OVERLAP_LABELS = {
  ...{ '0': 'Now', '1': '1 hour', '24': '24 hours', '72': '72 hours', custom: 'Custom' },
} as const;
export type OverlapChoice = keyof typeof OVERLAP_LABELS;

/** `undefined` until a number is entered. */
export function overlapHours(choice: OverlapChoice, customHours: number | undefined): number | undefined {
  return choice === 'custom' ? customHours : Number(choice);
}
