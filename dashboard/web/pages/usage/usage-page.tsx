import { type ReactNode, useMemo } from 'react';
import type { UsageGroupName, UsageRowView } from '#contract/money.ts';
import { useAsk } from '../../api/queries.ts';
import { EmptyState, PageHeader, UnlessFailed } from '../../components/panels.tsx';
import { Count, Money } from '../../components/values.tsx';
import { formatCompact, formatDollars, formatUtcDay } from '../../format/format.ts';
import { ToggleGroup } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { CutBanner, DailyChart, useReportDays } from '../../reports/daily-chart.tsx';
import { chosenSorting, sortedBy } from '../../reports/sorting.ts';
import { DaysFilter, KeyFilter, ModelFilter } from '../../search/filters.tsx';
import { type Url, useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { CsvLink, List } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { type UsageState, usageSearch } from '../searches.ts';
import {
  chosenGroups,
  sortUsage,
  toggleGroup,
  type UsageColumn,
  type UsageMeasure,
  usageColumns,
  usageSeries,
} from './usage-rows.ts';

const MEASURES: Readonly<Record<UsageMeasure, string>> = { cost: 'Spend', requests: 'Requests', tokens: 'Tokens' };
const OPTIONS = { refreshMs: 60_000, keepPrevious: true };
const ENDPOINT = 'GET /api/organizations/:organization/usage';

export function UsagePage(): ReactNode {
  const { id } = useOrganization();
  // The key remounts for another organization, so that figures of the former one are never shown.
  return <UsageOf key={id} organization={id} />;
}

function UsageOf({ organization }: { readonly organization: string }): ReactNode {
  const url = useUrl(usageSearch);
  const { search, change } = url;
  const { key, model, show = 'cost' } = search;
  const groups = chosenGroups(search);
  const others = groups.filter((group) => group !== 'day');
  const { today, days } = useReportDays(search);
  const inputBy = (names: readonly string[]) => ({
    params: { organization },
    query: { ...days, by: names.join(','), key, model },
  });
  const usage = useAsk(ENDPOINT, inputBy(groups), OPTIONS);
  const detailed = useAsk(ENDPOINT, inputBy(['day', ...others]), OPTIONS);
  const daily = useAsk(ENDPOINT, inputBy(['day']), { ...OPTIONS, enabled: detailed.data?.cut === true });
  const { data } = usage;
  const sortable = usageColumns(groups);
  const sorting = chosenSorting(search, sortable);
  const rows = useMemo(
    () => data && sortUsage(data.rows, sorting.by, sorting.order),
    [data, sorting.by, sorting.order],
  );
  const columns = useMemo(() => columnsFor(chosenGroups({ by: search.by }), data?.total), [search.by, data]);
  return (
    <>
      <PageHeader
        title="Usage"
        description="Cost and tokens of charged requests. Days are days of UTC."
        actions={<CsvLink organization={organization} table="usage" query={inputBy(groups).query} />}
      />
      <UsageFilters organization={organization} url={url} days={days} today={today} />
      <UnlessFailed query={usage}>
        <DailyChart
          days={days}
          measures={MEASURES}
          show={show}
          onShow={(next) => change({ show: next })}
          detailed={detailed}
          daily={daily}
          groups={others}
          seriesOf={usageSeries}
          kind="stacked-bars"
          format={show === 'cost' ? formatDollars : formatCompact}
        />
        <List
          query={usage}
          note={data?.cut && <CutBanner order="the highest cost" />}
          nouns={['row', 'rows']}
          caption="Usage"
          columns={columns}
          rows={rows}
          rowKey={(row) => [row.day, row.model, row.keyId].join(' ')}
          narrow="scroll"
          sorting={{ ...sorting, onSort: (column) => change(sortedBy(sorting, column as UsageColumn, sortable)) }}
          empty={
            <EmptyState icon="usage" title="No usage in these days">
              {key === undefined && model === undefined
                ? 'Choose other days, or send a request.'
                : 'Choose other days, another key or another model.'}
            </EmptyState>
          }
        />
      </UnlessFailed>
    </>
  );
}

interface UsageFiltersProps extends ReturnType<typeof useReportDays> {
  readonly organization: string;
  readonly url: Url<UsageState>;
}

function UsageFilters({ organization, url, days, today }: UsageFiltersProps): ReactNode {
  const { search, change } = url;
  return (
    <FilterBar url={url}>
      <DaysFilter value={search} days={days} today={today} onChange={change} />
      <KeyFilter organization={organization} value={search.key} onChange={(next) => change({ key: next })} />
      <ModelFilter organization={organization} value={search.model} onChange={(next) => change({ model: next })} />
      <ToggleGroup
        label="Group by"
        values={chosenGroups(search)}
        onToggle={(group) => change(toggleGroup(search, group))}
        choices={{ day: 'By day', model: 'By model', key: 'By key' }}
      />
    </FilterBar>
  );
}

const GROUP_COLUMNS: Readonly<Record<UsageGroupName, Column<UsageRowView>>> = {
  day: {
    id: 'day',
    header: 'Day (UTC)',
    cell: ({ day }) => <span className="nowrap">{day && formatUtcDay(day)}</span>,
  },
  model: { id: 'model', header: 'Model', cell: ({ model }) => <span className="nowrap">{model}</span> },
  key: {
    id: 'key',
    header: 'Key',
    cell: ({ keyName, keyId }) => (
      <span className="clip" data-hint={keyName === keyId ? keyId : `${keyName} · ${keyId}`}>
        {keyName ?? keyId}
      </span>
    ),
  },
};

/**
 * All but the first are tokens. Cached tokens and cache writes are part of the input, reasoning
 * tokens of the output.
 */
const FIGURES = [
  ['requests', 'Requests', 'requests'],
  ['input', 'Input', 'promptTokens'],
  ['cached', 'Cached', 'cachedTokens'],
  ['cache-writes', 'Cache writes', 'cacheWriteTokens'],
  ['output', 'Output', 'completionTokens'],
  ['reasoning', 'Reasoning', 'reasoningTokens'],
] as const satisfies readonly (readonly [UsageColumn, string, keyof UsageRowView])[];

function columnsFor(
  groups: readonly UsageGroupName[],
  total: UsageRowView | undefined,
): readonly Column<UsageRowView>[] {
  const names = groups.map((group, place) => ({ ...GROUP_COLUMNS[group], total: place === 0 ? 'Total' : '' }));
  const figures = FIGURES.map(([id, header, figure]) => ({
    id,
    header,
    numeric: true,
    cell: (row: UsageRowView) => <Count value={row[figure]} />,
    total: total && <Count value={total[figure]} />,
  }));
  const cost: Column<UsageRowView> = {
    id: 'cost',
    header: 'Cost',
    numeric: true,
    cell: ({ costNanoUsd }) => <Money nanoUsd={costNanoUsd} />,
    total: total && <Money nanoUsd={total.costNanoUsd} />,
  };
  // The cost comes first, where a phone shows it without scrolling.
  return [...names, cost, ...figures];
}
