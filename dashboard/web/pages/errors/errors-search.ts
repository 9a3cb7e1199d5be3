import { type RawSearch, textOf } from '../../search/search-values.ts';

export interface ErrorsSearch {
  readonly search?: string | undefined;
}

export function errorsSearch(raw: RawSearch): ErrorsSearch {
  return { search: textOf(raw, 'search') };
}
