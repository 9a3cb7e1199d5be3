import type { ReactNode } from 'react';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { SegmentedControl } from '../../forms/radio-group.tsx';
import { isFiltered, type Kind, type LedgerSearch } from './ledger-search.ts';
import { TimeFilter } from './time-filter.tsx';

export interface LedgerFiltersProps {
  readonly search: LedgerSearch;
  readonly onSearch: (search: LedgerSearch) => void;
  readonly actions: ReactNode;
}

const KIND_CHOICES: readonly { readonly value: Kind | 'all'; readonly label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'credit', label: 'Credits' },
  { value: 'charge', label: 'Charges' },
];

export function LedgerFilters({ search, onSearch, actions }: LedgerFiltersProps): ReactNode {
  const { kind, ...times } = search;
  return (
    <FilterBar active={isFiltered(search)} onClear={() => onSearch({})} actions={actions}>
      <SegmentedControl
        label="Kind"
        value={kind ?? 'all'}
        onChange={(next) => onSearch(next === 'all' ? times : { ...times, kind: next })}
        choices={KIND_CHOICES}
      />
      <TimeFilter times={times} onTimes={(next) => onSearch({ ...(kind && { kind }), ...next })} />
    </FilterBar>
  );
}
