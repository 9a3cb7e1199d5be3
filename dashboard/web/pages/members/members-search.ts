import { type RawSearch, textOf } from '../../search-values.ts';

export interface MembersSearch {
  readonly search?: string | undefined;
}

export function membersSearch(raw: RawSearch): MembersSearch {
  return { search: textOf(raw, 'search') };
}
