import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { CostRowView } from '#contract/costs.ts';
import { DAY_RANGES } from '#contract/explore-search.ts';
import { useAsk } from '../../api/queries.ts';
import { Chart } from '../../charts/chart.tsx';
import { useHiddenSeries } from '../../charts/hidden-series.ts';
import { Banner, Card, EmptyState, PageHeader, Stale, UnlessFailed } from '../../components/panels.tsx';
import { Count, Dash, Money } from '../../components/values.tsx';
import { Tiles } from '../../explore/explorer.tsx';
import { TimeChoice } from '../../explore/time-choice.tsx';
import { formatDollars, formatUtcDay } from '../../format/format.ts';
import { Select } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { type Url, useOnDay, useUrl } from '../../search/use-url.ts';
import { CsvLink, List } from '../../table/list-page.tsx';
import { type SortableColumns, sortRows, tableSorting } from '../../table/sorting.ts';
import { type Column, figureColumn } from '../../table/table.tsx';
import {
  COST_MEASURES,
  COSTS_RANGE,
  type CostMeasure,
  type CostSubject,
  type CostsState,
  costsSearch,
} from '../searches.ts';
import { amountOf, costDays, costSeries, shownAmount, sortedValue, subjectOf } from './cost-rows.ts';

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
  day: 'Day (UTC)',
};
const GROUPS = { model: 'By model', provider: 'By provider', organization: 'By organization', day: 'By day' } as const;
const OPTIONS = { keepPrevious: true };
const NOTHING = { rows: [] };

/** Not refreshed automatically, because a query may take seconds. */
export function CostsPage(): ReactNode {
  const url = useUrl(costsSearch);
  const { search, change } = url;
  const { by = 'model', show = 'revenue' } = search;
  const days = useOnDay((nowMs) => costDays(search, nowMs), JSON.stringify(search));
  const range = { from: days[0] ?? '', to: days.at(-1) ?? '' };
  const daily = { ...range, by: by === 'day' ? by : `day,${by}` };
  const costs = useAsk('GET /api/costs', { query: { ...range, by } }, OPTIONS);
  const { data } = costs;
  return (
    <>
      <PageHeader
        title="Costs and margin"
        help="operating.html#what-providers-bill"
        description={`Customer revenue, provider costs and losses, ${formatUtcDay(range.from)} to ${formatUtcDay(range.to)} (UTC).`}
        actions={<CsvLink table="costs" query={daily} />}
      />
      <FilterBar url={url}>
        <TimeChoice url={url} ranges={DAY_RANGES} usual={COSTS_RANGE} utc />
        <Select label="Group by" value={by} onChange={(next) => change({ by: next })} choices={GROUPS} />
      </FilterBar>
      <UnlessFailed query={costs}>
        <Stale isStale={costs.isPlaceholderData}>
          <Tiles
            tiles={COST_MEASURES.map((id) => ({
              ...{ id, label: MEASURES[id] },
              ...(data && { figure: <Figure row={data.total} measure={id} />, note: noteOf(data.total, id) }),
            }))}
            chosen={show}
            onChoose={(next) => change({ show: next })}
          />
        </Stale>
        <CostsChart days={days} daily={daily} by={by} show={show} />
        <CostsTable query={costs} by={by} url={url} />
      </UnlessFailed>
    </>
  );
}

function noteOf(total: CostRowView, measure: CostMeasure): string | undefined {
  const { rate, known } = shownAmount(total, measure);
  return [rate, known].filter((part) => part !== undefined).join(' · ') || undefined;
}

interface CostsChartProps {
  readonly days: readonly string[];
  /** Query for the server. */
  readonly daily: { readonly from: string; readonly to: string; readonly by: string };
  readonly by: CostSubject;
  readonly show: CostMeasure;
}

/**
 * One measure by day. Margins may be negative, so they are lines. Other measures are stacked. If
 * rows are cut, days would be missing, so the series is replaced by sums of each day.
 */
function CostsChart({ days, daily, by, show }: CostsChartProps): ReactNode {
  const detailed = useAsk('GET /api/costs', { query: daily }, OPTIONS);
  const isCut = detailed.data?.cut === true;
  const summed = useAsk('GET /api/costs', { query: { ...daily, by: 'day' } }, { ...OPTIONS, enabled: isCut });
  const query = isCut ? summed : detailed;
  const { rows } = query.data ?? NOTHING;
  const series = useMemo(() => costSeries(rows, days, show), [rows, days, show]);
  const startsMs = useMemo(() => days.map((day) => Date.parse(`${day}T00:00:00Z`)), [days]);
  const hiding = useHiddenSeries(series.map(({ id }) => id));
  const hasUnknown = rows.some((row) => amountOf(row, show) === undefined);
  const title = `${MEASURES[show]} by day`;
  return (
    <UnlessFailed query={query}>
      <Stale isStale={query.isPlaceholderData}>
        <Card title={title}>
          {series.length === 0 && hasUnknown ? (
            <EmptyState icon="usage" title="No known costs on these days" />
          ) : (
            <Chart
              label={isCut || by === 'day' ? title : `${title} and ${by}`}
              kind={show === 'margin' ? 'lines' : 'stacked-bars'}
              startsMs={query.data && startsMs}
              series={series}
              format={formatDollars}
              step="day"
              {...hiding}
            />
          )}
          {hasUnknown && (
            <p className="muted small">
              The cost of some requests is not known, because their target has no{' '}
              <code>cost_usd_per_million_tokens</code>. The chart shows the known part; a gap is a day without one.
            </p>
          )}
          {isCut && (
            <p className="muted small">Too many {by}s over too many days to show separately, so this is their total.</p>
          )}
        </Card>
      </Stale>
    </UnlessFailed>
  );
}

interface CostsTableProps {
  readonly query: ReturnType<typeof useAsk<'GET /api/costs'>>;
  readonly by: CostSubject;
  readonly url: Url<CostsState>;
}

function CostsTable({ query, by, url }: CostsTableProps): ReactNode {
  const { data } = query;
  // Newest first if grouped by day, else by revenue.
  const sorting = tableSorting(url, by === 'day' ? NEWEST_FIRST : BY_REVENUE);
  const rows = useMemo(
    () => data && sortRows(data.rows, sorting.order, (row) => sortedValue(row, sorting.by)),
    [data, sorting.by, sorting.order],
  );
  return (
    <List
      query={query}
      note={
        data?.cut && (
          <Banner tone="neutral" title="The table is incomplete">
            The rows with the largest revenue are shown and sorted. The total and the CSV include all of them.
          </Banner>
        )
      }
      nouns={['row', 'rows']}
      caption="Costs"
      columns={columnsFor(by, data?.total)}
      rows={rows}
      rowKey={(row) => row.day ?? row.organizationId ?? subjectOf(row)}
      narrow="scroll"
      sorting={sorting}
      empty={
        <EmptyState icon="usage" title="No charges or losses on these days">
          Choose other days.
        </EmptyState>
      }
    />
  );
}

type SortColumn = NonNullable<CostsState['sort']>;
const BY_REVENUE: SortableColumns<SortColumn> = { usual: 'revenue', names: ['subject'] };
const NEWEST_FIRST: SortableColumns<SortColumn> = { usual: 'subject', names: [] };

function columnsFor(by: CostSubject, total: CostRowView | undefined): readonly Column<CostRowView>[] {
  return [
    { id: 'subject', header: SUBJECTS[by], cell: (row) => <Subject row={row} />, total: 'Total' },
    ...COST_MEASURES.map((measure) =>
      figureColumn<CostRowView>(MEASURES[measure], (row) => <Amount row={row} measure={measure} />, {
        id: measure,
        total: total && <Amount row={total} measure={measure} />,
      }),
    ),
    figureColumn('Requests', (row) => <Count value={row.requests} />, {
      id: 'requests',
      total: total && <Count value={total.requests} />,
    }),
  ];
}

function Subject({ row }: { readonly row: CostRowView }): ReactNode {
  const { day, organizationId } = row;
  if (organizationId === undefined) return <span className="nowrap">{day ? formatUtcDay(day) : subjectOf(row)}</span>;
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

interface AmountProps {
  readonly row: CostRowView;
  readonly measure: CostMeasure;
}

function Amount({ row, measure }: AmountProps): ReactNode {
  const { rate, known } = shownAmount(row, measure);
  return (
    <span className="stack">
      <span>
        <Figure row={row} measure={measure} />
        {rate && <span className="muted small"> {rate}</span>}
      </span>
      {known && <span className="muted small">{known}</span>}
    </span>
  );
}

function Figure({ row, measure }: AmountProps): ReactNode {
  const { amount } = shownAmount(row, measure);
  return amount === undefined ? <Dash words="Unknown" hint={UNKNOWN} /> : <Money nanoUsd={amount} />;
}
