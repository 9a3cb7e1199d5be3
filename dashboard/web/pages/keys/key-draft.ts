import type { KeyRestrictions } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { type Draft, draftOf } from '../../forms/draft.ts';

export type KeyDraft = Draft<KeyRestrictions>;
export type KeyProblems = Partial<Record<keyof KeyDraft, string>>;

export const NEW_KEY: KeyDraft = draftOf(KEY_SETTINGS, { name: '', scopes: ['chat'] });

/** Problems beyond those that single fields report. */
export function draftProblems(draft: KeyDraft, nowMs: number, before?: KeyRestrictions): KeyProblems {
  const { name = '', scopes = [], expiresAtMs } = draft;
  const isPast = expiresAtMs !== undefined && expiresAtMs <= nowMs && expiresAtMs !== before?.expiresAtMs;
  return {
    ...(name.trim() === '' ? { name: 'Give the key a name.' } : {}),
    ...(scopes.length === 0 ? { scopes: 'Choose at least one.' } : {}),
    ...(isPast ? { expiresAtMs: 'Choose a time in the future.' } : {}),
  };
}
