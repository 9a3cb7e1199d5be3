import { type ReactNode, useEffect, useState } from 'react';
import { present } from '../../../../core/present.ts';
import { ToggleGroup } from '../../forms/choices.tsx';
import { type DayRange, DayRangeInput } from '../../forms/day-range-input.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { Select } from '../../forms/select.tsx';
import { KeyFilter, ModelFilter } from '../../search/key-and-model-filters.tsx';
import { type Days, objectionToDays, type Preset } from './usage-days.ts';
import { chosenGroups, DEFAULT_PRESET, toggleGroup, type UsageUrlState } from './usage-url.ts';

export interface UsageFiltersProps {
  readonly organization: string;
  readonly search: UsageUrlState;
  readonly days: Days;
  readonly today: string;
  readonly onSearch: (search: UsageUrlState) => void;
}

const RANGES: readonly { readonly value: Preset | 'custom'; readonly label: string }[] = [
  { value: '7d', label: 'Last 7 days' },
  { value: '30d', label: 'Last 30 days' },
  { value: '90d', label: 'Last 90 days' },
  { value: 'month', label: 'This month' },
  { value: 'last-month', label: 'Last month' },
  { value: 'custom', label: 'Custom days' },
];

export function UsageFilters({ organization, search, days, today, onSearch }: UsageFiltersProps): ReactNode {
  const { from, to, range, key, model, ...rest } = search;
  const custom = from !== undefined;
  const filter = (next: Pick<UsageUrlState, 'key' | 'model'>) => onSearch(present({ ...search, ...next }));
  const chooseRange = (next: Preset | 'custom') => {
    const chosen = next === 'custom' ? days : next === DEFAULT_PRESET ? {} : { range: next };
    onSearch({ ...rest, ...(key && { key }), ...(model && { model }), ...chosen });
  };
  return (
    <FilterBar
      active={custom || range !== undefined || key !== undefined || model !== undefined}
      onClear={() => onSearch(rest)}
    >
      <Select
        label="Days"
        value={custom ? 'custom' : (range ?? DEFAULT_PRESET)}
        onChange={chooseRange}
        choices={RANGES}
      />
      {custom && <CustomDays days={days} today={today} onDays={(next) => onSearch({ ...search, ...next })} />}
      <KeyFilter organization={organization} value={key} onChange={(next) => filter({ key: next })} />
      <ModelFilter organization={organization} value={model} onChange={(next) => filter({ model: next })} />
      <ToggleGroup
        label="Group by"
        values={chosenGroups(search)}
        onToggle={(group) => onSearch(toggleGroup(search, group))}
        choices={[
          { value: 'day', label: 'By day' },
          { value: 'model', label: 'By model' },
          { value: 'key', label: 'By key' },
        ]}
      />
    </FilterBar>
  );
}

export interface CustomDaysProps {
  readonly days: Days;
  readonly today: string;
  readonly onDays: (days: Days) => void;
}

/** Invalid days stay in the boxes with their problem. The page keeps the last valid ones. */
export function CustomDays({ days, today, onDays }: CustomDaysProps): ReactNode {
  const [draft, setDraft] = useState<DayRange>(days);
  useEffect(() => setDraft(days), [days]);
  const complete = { from: draft.from ?? '', to: draft.to ?? '' };
  return (
    <DayRangeInput
      label="Days of UTC"
      value={draft}
      max={today}
      problem={objectionToDays(complete)}
      onChange={(next) => {
        setDraft(next);
        const chosen = { from: next.from ?? '', to: next.to ?? '' };
        if (objectionToDays(chosen) === undefined) onDays(chosen);
      }}
    />
  );
}
