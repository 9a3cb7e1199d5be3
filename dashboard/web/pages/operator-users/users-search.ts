import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

export interface UsersSearch {
  readonly search?: string | undefined;
  readonly dialog?: 'invite' | undefined;
}

export function usersSearch(raw: RawSearch): UsersSearch {
  return { search: textOf(raw, 'search'), dialog: oneOf(raw, 'dialog', ['invite']) };
}
