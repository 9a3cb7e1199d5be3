import type { KeyView } from '../../../contract/keys.ts';
import { hasEnded } from '../../keys/key-labels.ts';
import type { KeyGroup, KeysUrlState } from './keys-url.ts';

export interface FilteredKeys {
  readonly shown: readonly KeyView[];
  /** Number of matches in each group. */
  readonly counts: Readonly<Record<KeyGroup, number>>;
}

export function filterKeys(keys: readonly KeyView[], { show = 'usable', search = '' }: KeysUrlState): FilteredKeys {
  const found = keys.filter((key) => matches(key, search));
  const groups: Record<KeyGroup, KeyView[]> = {
    usable: found.filter((key) => !hasEnded(key)),
    ended: found.filter(hasEnded),
    all: found,
  };
  const counts = { usable: groups.usable.length, ended: groups.ended.length, all: groups.all.length };
  return { shown: groups[show], counts };
}

/**
 * Matches every word in the name, or the whole text in id, last four characters or creator. A
 * pasted key matches by its end.
 */
function matches({ name, id, last4, createdBy = '' }: KeyView, search: string): boolean {
  const text = search.trim().toLowerCase();
  if (text === '') return true;
  if (/^sk-gw-/.test(text)) return text.endsWith(last4.toLowerCase());
  const words = text.split(/\s+/);
  const inName = words.every((word) => name.toLowerCase().includes(word));
  return inName || [id, last4, createdBy].some((value) => value.toLowerCase().includes(text));
}
