import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { utcDay } from '../../format/format-instant.ts';
import { SegmentedControl, ToggleGroup } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { type Days, type DaysUrl, daysOf } from '../../search/days.ts';
import { DaysFilter } from '../../search/days-filter.tsx';
import { CsvLink } from '../../table/csv-link.tsx';
import { CostsChart } from './costs-chart.tsx';
import { CostsTable } from './costs-table.tsx';
import { type CostsUrlState, chosenSorting, groupsOf, sortBy } from './costs-url.ts';

const route = getRouteApi('/app/operator/costs');

/** Not refreshed by itself: a reading may take seconds. */
export function CostsPage(): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const onSearch = (next: CostsUrlState) => void navigate({ search: next, replace: true, resetScroll: false });
  // Days change at midnight only.
  const today = utcDay(Date.now());
  const days = useMemo(() => daysOf(search, Date.parse(`${today}T00:00:00Z`)), [search, today]);
  const query = { ...days, by: groupsOf(search) };
  const costs = useAsk('GET /api/costs', { query }, { keepPrevious: true });
  const { by = 'model', daily } = search;
  return (
    <>
      <PageHeader
        title="Costs and margin"
        description="What customers paid, what providers are paid for it, and what was lost. Days are days of UTC."
        actions={<CsvLink table="costs" query={query} />}
      />
      <CostsFilters search={search} days={days} today={today} onSearch={onSearch} />
      <UnlessFailed query={costs}>
        <CostsChart search={search} days={days} onSearch={onSearch} />
        {costs.data?.cut && (
          <Banner tone="neutral" title="The table is cut">
            There are more rows than fit here: the newest, or those of the largest revenue, are shown and sorted. The
            total counts all of them, and the CSV has them.
          </Banner>
        )}
        <CostsTable
          rows={costs.data?.rows}
          total={costs.data?.total}
          subject={by}
          isDaily={daily !== undefined}
          sorting={{ ...chosenSorting(search), onSort: (column) => onSearch(sortBy(search, column)) }}
        />
      </UnlessFailed>
    </>
  );
}

interface CostsFiltersProps {
  readonly search: CostsUrlState;
  readonly days: Days;
  readonly today: string;
  readonly onSearch: (search: CostsUrlState) => void;
}

function CostsFilters({ search, days, today, onSearch }: CostsFiltersProps): ReactNode {
  const { from, to, range, ...rest } = search;
  const { by, daily, ...others } = search;
  const isDaily = daily !== undefined;
  return (
    <FilterBar active={from !== undefined || range !== undefined} onClear={() => onSearch(rest)}>
      <DaysFilter url={search} days={days} today={today} onDays={(next: DaysUrl) => onSearch({ ...rest, ...next })} />
      <SegmentedControl
        label="By"
        value={by ?? 'model'}
        onChange={(next) => onSearch({ ...others, ...(isDaily && { daily }), ...(next !== 'model' && { by: next }) })}
        choices={[
          { value: 'model', label: 'By model' },
          { value: 'provider', label: 'By provider' },
          { value: 'organization', label: 'By organization' },
        ]}
      />
      <ToggleGroup
        label="Days"
        values={isDaily ? ['day'] : []}
        onToggle={() => onSearch({ ...others, ...(by && { by }), ...(!isDaily && { daily: 'yes' }) })}
        choices={[{ value: 'day', label: 'By day' }]}
      />
    </FilterBar>
  );
}
