import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

export interface MembersSearch {
  readonly search?: string | undefined;
  readonly dialog?: 'invite' | undefined;
}

export function membersSearch(raw: RawSearch): MembersSearch {
  return { search: textOf(raw, 'search'), dialog: oneOf(raw, 'dialog', ['invite']) };
}
