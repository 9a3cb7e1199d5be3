import type { ReactNode } from 'react';
import type { Choice } from '../forms/choices.tsx';
import { SearchBox } from '../forms/filter-bar.tsx';
import type { Url } from './use-url.ts';

/** Adds a chosen value that is not listed: links may name former keys and models. */
export function withChosen(
  known: readonly Choice<string>[],
  chosen: string | undefined,
  label = chosen,
): readonly Choice<string>[] {
  if (chosen === undefined || label === undefined || known.some(({ value }) => value === chosen)) return known;
  return [...known, { value: chosen, label }];
}

export interface SearchFilterProps {
  readonly label: string;
  readonly url: Url<{ readonly search?: string | undefined }>;
}

/** Searches a list with every letter. Only spaces count as no search. */
export function SearchFilter({ label, url: { search, change } }: SearchFilterProps): ReactNode {
  const onSearch = (text?: string) => change({ search: text?.trim() ? text : undefined });
  return <SearchBox label={label} value={search.search} live onSearch={onSearch} />;
}
