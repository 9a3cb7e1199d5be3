import type { KeyView } from '#contract/keys.ts';
import { isInGroup, KEY_GROUPS, type KeyGroup, matchesSearch } from '#core/key-filter.ts';
import type { KeysUrlState } from './keys-url.ts';

export interface FilteredKeys {
  readonly shown: readonly KeyView[];
  /** Number of matches in each group. */
  readonly counts: Readonly<Record<KeyGroup, number>>;
}

export function filterKeys(
  keys: readonly KeyView[],
  { show = 'usable', search = '' }: KeysUrlState,
  nowMs: number,
): FilteredKeys {
  const found = keys.filter((key) => matchesSearch(key, search));
  const group = (name: KeyGroup) => found.filter((key) => isInGroup(key, name, nowMs));
  const counts = Object.fromEntries(KEY_GROUPS.map((name) => [name, group(name).length]));
  return { shown: group(show), counts: counts as Record<KeyGroup, number> };
}
