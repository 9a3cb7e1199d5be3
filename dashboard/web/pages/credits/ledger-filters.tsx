import { type ReactNode, useEffect, useState } from 'react';
import { type DayRange, DayRangeInput } from '../../components/day-range-input.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { SegmentedControl } from '../../components/radio-group.tsx';
import { Select } from '../../components/select.tsx';
import { isFiltered, type Kind, type LedgerSearch, localDay, objectionToDays, type Span } from './ledger-search.ts';

export interface LedgerFiltersProps {
  readonly search: LedgerSearch;
  readonly onSearch: (search: LedgerSearch) => void;
  readonly actions: ReactNode;
}

type RangeChoice = Span | 'all' | 'custom';

const RANGES: readonly { readonly value: RangeChoice; readonly label: string }[] = [
  { value: 'all', label: 'All time' },
  { value: '24h', label: 'Last 24 hours' },
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: '90d', label: 'Last 90 days' },
  { value: 'custom', label: 'Custom days' },
];

const KIND_CHOICES: readonly { readonly value: Kind | 'all'; readonly label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'credit', label: 'Credits' },
  { value: 'charge', label: 'Charges' },
];

export function LedgerFilters({ search, onSearch, actions }: LedgerFiltersProps): ReactNode {
  const { kind, range, from, to } = search;
  const custom = from !== undefined || to !== undefined;
  const ofKind = kind === undefined ? {} : { kind };
  const chooseRange = (next: RangeChoice) => {
    const today = localDay(Date.now());
    if (next === 'custom') onSearch({ ...ofKind, from: today, to: today });
    else onSearch({ ...ofKind, ...(next !== 'all' && { range: next }) });
  };
  const chooseKind = (next: Kind | 'all') => {
    const { kind: _, ...rest } = search;
    onSearch(next === 'all' ? rest : { ...rest, kind: next });
  };
  return (
    <FilterBar active={isFiltered(search)} onClear={() => onSearch({})} actions={actions}>
      <SegmentedControl label="Kind" value={kind ?? 'all'} onChange={chooseKind} choices={KIND_CHOICES} />
      <Select label="Time" value={custom ? 'custom' : (range ?? 'all')} onChange={chooseRange} choices={RANGES} />
      {custom && <LocalDays from={from} to={to} onDays={(days) => onSearch({ ...ofKind, ...days })} />}
    </FilterBar>
  );
}

interface LocalDaysProps extends DayRange {
  readonly onDays: (days: Pick<LedgerSearch, 'from' | 'to'>) => void;
}

/** Days that cannot be shown stay in the boxes with what is wrong with them; the page keeps the last ones that could. */
function LocalDays({ from, to, onDays }: LocalDaysProps): ReactNode {
  const [draft, setDraft] = useState<DayRange>({ from, to });
  useEffect(() => setDraft({ from, to }), [from, to]);
  return (
    <DayRangeInput
      label="Days in your zone"
      value={draft}
      problem={objectionToDays(present(draft))}
      onChange={(next) => {
        setDraft(next);
        const days = present(next);
        const some = days.from !== undefined || days.to !== undefined;
        if (some && objectionToDays(days) === undefined) onDays(days);
      }}
    />
  );
}

function present({ from, to }: DayRange): Pick<LedgerSearch, 'from' | 'to'> {
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
