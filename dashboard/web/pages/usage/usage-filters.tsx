import type { ReactNode } from 'react';
import { present } from '#core/present.ts';
import { ToggleGroup } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import type { Days, DaysUrl } from '../../search/days.ts';
import { DaysFilter } from '../../search/days-filter.tsx';
import { KeyFilter, ModelFilter } from '../../search/key-and-model-filters.tsx';
import { chosenGroups, toggleGroup, type UsageUrlState } from './usage-url.ts';

export interface UsageFiltersProps {
  readonly organization: string;
  readonly search: UsageUrlState;
  readonly days: Days;
  readonly today: string;
  readonly onSearch: (search: UsageUrlState) => void;
}

export function UsageFilters({ organization, search, days, today, onSearch }: UsageFiltersProps): ReactNode {
  const { from, to, range, key, model, ...rest } = search;
  const filter = (next: Pick<UsageUrlState, 'key' | 'model'>) => onSearch(present({ ...search, ...next }));
  const chooseDays = (next: DaysUrl) => onSearch({ ...rest, ...present({ key, model }), ...next });
  return (
    <FilterBar
      active={from !== undefined || range !== undefined || key !== undefined || model !== undefined}
      onClear={() => onSearch(rest)}
    >
      <DaysFilter url={search} days={days} today={today} onDays={chooseDays} />
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
