import { type RawSearch, textOf } from '../../search-values.ts';

export interface OrganizationsSearch {
  readonly search?: string | undefined;
}

export function organizationsSearch(raw: RawSearch): OrganizationsSearch {
  return { search: textOf(raw, 'search') };
}
