import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { utcDay } from '../../format/format-instant.ts';
import { daysOf } from '../../search/days.ts';
import { useOrganization } from '../../shell/use-organization.ts';
import { CsvLink } from '../../table/csv-link.tsx';
import { UsageChart } from './usage-chart.tsx';
import { UsageFilters } from './usage-filters.tsx';
import { UsageTable } from './usage-table.tsx';
import { chosenGroups, chosenSorting, sortBy, type UsageUrlState } from './usage-url.ts';

const route = getRouteApi('/app/o/$organization/usage');
const REFRESH_MS = 60_000;

export function UsagePage(): ReactNode {
  const { id } = useOrganization();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  // The key remounts for another organization, so that figures of the former one are never shown.
  return (
    <UsageOf key={id} id={id} search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
  );
}

interface UsageOfProps {
  readonly id: string;
  readonly search: UsageUrlState;
  readonly onSearch: (search: UsageUrlState) => void;
}

function UsageOf({ id, search, onSearch }: UsageOfProps): ReactNode {
  const params = { organization: id };
  const groups = chosenGroups(search);
  // Days change at midnight only.
  const today = utcDay(Date.now());
  const days = useMemo(() => daysOf(search, Date.parse(`${today}T00:00:00Z`)), [search, today]);
  const query = { ...days, by: groups.join(','), key: search.key, model: search.model };
  const usage = useAsk(
    'GET /api/organizations/:organization/usage',
    { params, query },
    { refreshMs: REFRESH_MS, keepPrevious: true },
  );
  const narrowed = search.key !== undefined || search.model !== undefined;
  return (
    <>
      <PageHeader
        title="Usage"
        description="Cost and tokens of charged requests. Days are days of UTC."
        actions={<CsvLink organization={id} table="usage" query={query} />}
      />
      <UsageFilters organization={id} search={search} days={days} today={today} onSearch={onSearch} />
      <UnlessFailed query={usage}>
        <UsageChart organization={id} search={search} days={days} onSearch={onSearch} />
        {usage.data?.cut && (
          <Banner tone="neutral" title="The table is cut">
            There are more rows than fit here: the newest, or the most expensive, are shown and sorted. The total counts
            all of them, and the CSV has them.
          </Banner>
        )}
        <UsageTable
          rows={usage.data?.rows}
          total={usage.data?.total}
          groups={groups}
          narrowed={narrowed}
          sorting={{ ...chosenSorting(search), onSort: (column) => onSearch(sortBy(search, column)) }}
        />
      </UnlessFailed>
    </>
  );
}
