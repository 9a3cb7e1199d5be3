import type { ReactNode } from 'react';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { Select } from '../../forms/select.tsx';
import { ToggleGroup } from '../../forms/toggle-group.tsx';
import { useKeyChoices, useModelChoices } from '../../shell/use-filter-choices.ts';
import { CustomDays } from './custom-days.tsx';
import type { Days, Preset } from './usage-days.ts';
import { chosenGroups, DEFAULT_PRESET, toggleGroup, type UsageSearch } from './usage-search.ts';

export interface UsageFiltersProps {
  readonly organization: string;
  readonly search: UsageSearch;
  readonly days: Days;
  readonly today: string;
  readonly onSearch: (search: UsageSearch) => void;
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
  const keys = useKeyChoices(organization, key);
  const models = useModelChoices(organization, model);
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
      <Select
        label="Key"
        value={key ?? ''}
        onChange={(next) => onSearch(withOrWithout(search, 'key', next))}
        choices={keys}
      />
      <Select
        label="Model"
        value={model ?? ''}
        onChange={(next) => onSearch(withOrWithout(search, 'model', next))}
        choices={models}
      />
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

function withOrWithout(search: UsageSearch, name: 'key' | 'model', value: string): UsageSearch {
  const { [name]: _, ...rest } = search;
  return value === '' ? rest : { ...rest, [name]: value };
}
