import type { KeyView } from '#contract/keys.ts';
import { chosenSorting, type SortingState, sortRows } from '../table/sorting.ts';

const VALUES = {
  name: ({ name }) => name,
  used: ({ lastUsedAtMs }) => lastUsedAtMs,
  spent: ({ spentTodayNanoUsd }) => BigInt(spentTodayNanoUsd),
  owner: ({ createdBy }) => createdBy,
  created: ({ createdAtMs }) => createdAtMs,
} as const satisfies Readonly<Record<string, (key: KeyView) => string | number | bigint | undefined>>;

type KeySort = keyof typeof VALUES;
export const KEY_SORTS = Object.keys(VALUES) as readonly KeySort[];
export const SORTABLE_KEYS = { usual: 'created', names: ['name', 'owner'] } as const;

/** Newest first, if the address does not say otherwise. */
export function sortKeys(keys: readonly KeyView[], sorting: SortingState<KeySort>): readonly KeyView[] {
  const { by, order } = chosenSorting<KeySort>(sorting, SORTABLE_KEYS);
  return sortRows(keys, order, VALUES[by]);
}
