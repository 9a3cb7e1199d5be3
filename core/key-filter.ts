import { DAY_MS } from './clock.ts';
import type { KeyState } from './key-state.ts';

/** Groups of the list of keys. `expiring` ones are usable too; `ended` means revoked or expired. */
export const KEY_GROUPS = ['usable', 'expiring', 'ended', 'all'] as const;
export type KeyGroup = (typeof KEY_GROUPS)[number];

/** Notice before a key expires. */
export const EXPIRY_NOTICE_MS = 7 * DAY_MS;

/** Members of a key by which a list is filtered. */
export interface FilteredKey {
  readonly id: string;
  readonly name: string;
  readonly note?: string;
  readonly last4: string;
  readonly state: KeyState;
  readonly expiresAtMs?: number;
  readonly createdBy?: string;
}

/** True if the key works, expires soon, and has no planned revocation. */
export function isExpiring({ state, expiresAtMs }: Pick<FilteredKey, 'state' | 'expiresAtMs'>, nowMs: number): boolean {
  return state === 'usable' && expiresAtMs !== undefined && expiresAtMs - nowMs <= EXPIRY_NOTICE_MS;
}

export function isInGroup(key: FilteredKey, group: KeyGroup, nowMs: number): boolean {
  if (group === 'all') return true;
  if (group === 'expiring') return isExpiring(key, nowMs);
  const hasEnded = key.state === 'revoked' || key.state === 'expired';
  return hasEnded === (group === 'ended');
}

/**
 * Matches every word in the name or every word in the note, or the whole text in id, last four
 * characters or creator. A pasted key matches by its end.
 */
export function matchesSearch({ name, note = '', id, last4, createdBy = '' }: FilteredKey, search: string): boolean {
  const text = search.trim().toLowerCase();
  if (text === '') return true;
  if (/^sk-gw-/.test(text)) return text.endsWith(last4.toLowerCase());
  const words = text.split(/\s+/);
  const hasWords = (place: string) => words.every((word) => place.toLowerCase().includes(word));
  return hasWords(name) || hasWords(note) || [id, last4, createdBy].some((value) => value.toLowerCase().includes(text));
}
