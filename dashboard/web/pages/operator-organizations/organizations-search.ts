import { oneOf, type RawSearch, textOf } from '../../search/search-values.ts';

export interface OrganizationsSearch {
  readonly search?: string | undefined;
  readonly dialog?: 'create' | undefined;
}

export function organizationsSearch(raw: RawSearch): OrganizationsSearch {
  return { search: textOf(raw, 'search'), dialog: oneOf(raw, 'dialog', ['create']) };
}
