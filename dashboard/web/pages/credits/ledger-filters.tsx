import type { ReactNode } from 'react';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { TimeFilter } from '../../search/time-filter.tsx';
import { isFiltered } from '../../search/url-values.ts';
import type { LedgerUrlState } from './ledger-url.ts';

export interface LedgerFiltersProps {
  readonly search: LedgerUrlState;
  readonly onSearch: (search: LedgerUrlState) => void;
  readonly actions: ReactNode;
}

const KIND_CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'credit', label: 'Credits' },
  { value: 'charge', label: 'Charges' },
] as const;

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
