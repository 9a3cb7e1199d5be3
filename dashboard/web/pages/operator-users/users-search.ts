import { type RawSearch, textOf } from '../../search-values.ts';

export interface UsersSearch {
  readonly search?: string | undefined;
}

export function usersSearch(raw: RawSearch): UsersSearch {
  return { search: textOf(raw, 'search') };
}
