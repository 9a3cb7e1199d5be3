import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

export const KEY_GROUPS = ['usable', 'ended', 'all'] as const;
/** `ended`: revoked and expired. */
export type KeyGroup = (typeof KEY_GROUPS)[number];

export interface KeysSearch {
  readonly search?: string | undefined;
  /** Absent: usable. */
  readonly show?: KeyGroup | undefined;
  /** The one whose drawer is open. */
  readonly key?: string | undefined;
  readonly dialog?: 'create' | undefined;
}

export function keysSearch(raw: RawSearch): KeysSearch {
  return {
    search: textOf(raw, 'search'),
    show: oneOf(raw, 'show', KEY_GROUPS),
    key: textOf(raw, 'key'),
    dialog: oneOf(raw, 'dialog', ['create']),
  };
}
