import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { CostRowView } from '#contract/costs.ts';
import { useAsk } from '../../api/queries.ts';
import { EmptyState, PageHeader, UnlessFailed } from '../../components/panels.tsx';
import { Count, Money } from '../../components/values.tsx';
import { formatDollars, formatPercent, formatUtcDay } from '../../format/format.ts';
import { SegmentedControl, ToggleGroup } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { CutBanner, DailyChart, useReportDays } from '../../reports/daily-chart.tsx';
import { chosenSorting, sortedBy } from '../../reports/sorting.ts';
import { DaysFilter } from '../../search/filters.tsx';
import { useUrl } from '../../search/use-url.ts';
import { CsvLink, List } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { COST_SUBJECTS, type CostMeasure, type CostSubject, type CostsState, costsSearch } from '../searches.ts';
import { amountOf, costSeries, knownPart, sortCosts, subjectOf } from './cost-rows.ts';

const MEASURES: Readonly<Record<CostMeasure, string>> = {
  list: 'List price',
  revenue: 'Revenue',
  cost: 'Cost',
  margin: 'Margin',
  losses: 'Losses',
};
const SUBJECTS: Readonly<Record<CostSubject, string>> = {
  model: 'Model',
  provider: 'Provider',
  organization: 'Organization',
};
const OPTIONS = { keepPrevious: true };

/** Not refreshed by itself: a reading may take seconds. */
export function CostsPage(): ReactNode {
  const url = useUrl(costsSearch);
  const { search, change } = url;
  const { by = 'model', show = 'revenue', daily } = search;
  const isDaily = daily !== undefined;
  const { today, days } = useReportDays(search);
  const query = { ...days, by: isDaily ? `day,${by}` : by };
  const costs = useAsk('GET /api/costs', { query }, OPTIONS);
  return (
    <>
      <PageHeader
        title="Costs and margin"
        description="Customer revenue, provider costs and losses. Days are in UTC."
        actions={<CsvLink table="costs" query={query} />}
      />
      <FilterBar url={url}>
        <DaysFilter value={search} days={days} today={today} onChange={change} />
        <SegmentedControl
          label="By"
          value={by}
          onChange={(next) => change({ by: next })}
          choices={COST_SUBJECTS.map((value) => ({ value, label: `By ${value}` }))}
        />
        <ToggleGroup
          label="Days"
          values={isDaily ? ['day'] : []}
          onToggle={() => change({ daily: isDaily ? undefined : 'yes' })}
          choices={[{ value: 'day', label: 'By day' }]}
        />
      </FilterBar>
      <UnlessFailed query={costs}>
        <CostsChart days={days} by={by} show={show} onShow={(next) => change({ show: next })} />
        <CostsTable query={costs} by={by} isDaily={isDaily} search={search} onSort={change} />
      </UnlessFailed>
    </>
  );
}

interface CostsChartProps {
  readonly days: ReturnType<typeof useReportDays>['days'];
  readonly by: CostSubject;
  readonly show: CostMeasure;
  readonly onShow: (measure: CostMeasure) => void;
}

/** One measure by day. A margin may be negative, so it has lines; others are stacked. */
function CostsChart({ days, by, show, onShow }: CostsChartProps): ReactNode {
  const detailed = useAsk('GET /api/costs', { query: { ...days, by: `day,${by}` } }, OPTIONS);
  const isCut = detailed.data?.cut === true;
  const daily = useAsk('GET /api/costs', { query: { ...days, by: 'day' } }, { ...OPTIONS, enabled: isCut });
  const rows = (isCut ? daily : detailed).data?.rows ?? [];
  const hasUnknown = rows.some((row) => amountOf(row, show) === undefined);
  return (
    <DailyChart
      days={days}
      measures={MEASURES}
      show={show}
      onShow={onShow}
      detailed={detailed}
      daily={daily}
      groups={[by]}
      seriesOf={costSeries}
      kind={show === 'margin' ? 'lines' : 'stacked-bars'}
      format={formatDollars}
      empty={hasUnknown && 'No cost is known in these days'}
    >
      {hasUnknown && (
        <p className="muted small">
          A gap is a day whose cost is not known, not zero: a target that served requests then has no{' '}
          <code>cost_usd_per_million_tokens</code>. The chart leaves out what has no day with a known cost.
        </p>
      )}
    </DailyChart>
  );
}

interface CostsTableProps {
  readonly query: ReturnType<typeof useAsk<'GET /api/costs'>>;
  readonly by: CostSubject;
  readonly isDaily: boolean;
  readonly search: CostsState;
  readonly onSort: (sorting: Pick<CostsState, 'sort' | 'order'>) => void;
}

function CostsTable({ query, by, isDaily, search, onSort }: CostsTableProps): ReactNode {
  const { data } = query;
  // Newest first if grouped by day, else by revenue.
  const sortable = { usual: isDaily ? 'day' : 'revenue', names: ['subject'] } as const;
  const isGone = search.sort === 'day' && !isDaily;
  const sorting = chosenSorting(isGone ? {} : search, sortable);
  const rows = useMemo(
    () => data && sortCosts(data.rows, sorting.by, sorting.order),
    [data, sorting.by, sorting.order],
  );
  const columns = useMemo(() => columnsFor(by, isDaily, data?.total), [by, isDaily, data]);
  return (
    <List
      query={query}
      note={data?.cut && <CutBanner order="the largest revenue" />}
      nouns={['row', 'rows']}
      caption="Costs"
      columns={columns}
      rows={rows}
      rowKey={(row) => [row.day, row.organizationId ?? subjectOf(row)].join(' ')}
      narrow="scroll"
      sorting={{
        ...sorting,
        onSort: (column) => onSort(sortedBy(sorting, column as NonNullable<CostsState['sort']>, sortable)),
      }}
      empty={
        <EmptyState icon="usage" title="No charges or losses on these days">
          Choose other days.
        </EmptyState>
      }
    />
  );
}

function columnsFor(by: CostSubject, isDaily: boolean, total: CostRowView | undefined): readonly Column<CostRowView>[] {
  const day: Column<CostRowView> = {
    id: 'day',
    header: 'Day (UTC)',
    cell: (row) => <span className="nowrap">{row.day && formatUtcDay(row.day)}</span>,
    total: 'Total',
  };
  return [
    ...(isDaily ? [day] : []),
    { id: 'subject', header: SUBJECTS[by], cell: (row) => <Subject row={row} />, total: isDaily ? '' : 'Total' },
    ...(Object.keys(MEASURES) as CostMeasure[]).map((measure) => ({
      id: measure,
      header: MEASURES[measure],
      numeric: true,
      cell: (row: CostRowView) => <Amount row={row} measure={measure} />,
      total: total && <Amount row={total} measure={measure} />,
    })),
    {
      id: 'requests',
      header: 'Requests',
      numeric: true,
      cell: (row) => <Count value={row.requests} />,
      total: total && <Count value={total.requests} />,
    },
  ];
}

function Subject({ row }: { readonly row: CostRowView }): ReactNode {
  const { organizationId } = row;
  if (organizationId === undefined) return <span className="nowrap">{subjectOf(row)}</span>;
  return (
    <Link
      className="clip"
      to="/o/$organization/overview"
      params={{ organization: organizationId }}
      data-hint={organizationId}
    >
      {subjectOf(row)}
    </Link>
  );
}

const UNKNOWN = 'A target that served some of these requests has no cost_usd_per_million_tokens';

function Amount({ row, measure }: { readonly row: CostRowView; readonly measure: CostMeasure }): ReactNode {
  const amount = amountOf(row, measure);
  const part = amount === undefined && (measure === 'cost' || measure === 'margin') ? knownPart(row) : undefined;
  if (part !== undefined) {
    return (
      <span className="stack" data-hint={UNKNOWN}>
        <span>
          <Money nanoUsd={part[measure as 'cost' | 'margin']} />
          {measure === 'margin' && <span className="muted small"> {formatPercent(part.rate)}</span>}
        </span>
        <span className="muted small">known for {formatPercent(part.share)}</span>
      </span>
    );
  }
  if (amount === undefined) {
    return (
      <span className="muted" data-hint={UNKNOWN}>
        <span aria-hidden="true">–</span>
        <span className="visually-hidden">Not known</span>
      </span>
    );
  }
  const { revenueNanoUsd } = row;
  const share = measure === 'margin' && revenueNanoUsd !== '0' ? Number(amount) / Number(revenueNanoUsd) : undefined;
  return (
    <>
      <Money nanoUsd={amount} />
      {share !== undefined && <span className="muted small"> {formatPercent(share)}</span>}
    </>
  );
}
