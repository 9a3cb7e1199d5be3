import { type ReactNode, useMemo } from 'react';
import type { ExploreGroup, ExploreGrouping, ExploreRank } from '#contract/explore.ts';
import { type ExploreState, LISTS, type ListName } from '#contract/explore-search.ts';
import { Button } from '../components/button.tsx';
import { EmptyState, Stale } from '../components/panels.tsx';
import { Money } from '../components/values.tsx';
import { formatCount } from '../format/format.ts';
import type { Url } from '../search/use-url.ts';
import { sortRows, tableSorting } from '../table/sorting.ts';
import { type Column, figureColumn, Table } from '../table/table.tsx';
import styles from './explore.module.css';
import { daysLeft, MEASURE_VIEWS, shownMeasures } from './explore-figures.ts';
import { Figure } from './explorer.tsx';
import { groupsCsv } from './groups-csv.ts';
import type { Explored, ExploreQuery } from './use-explore.ts';

interface GroupTableProps {
  readonly query: Pick<ExploreQuery, 'data' | 'isPlaceholderData'>;
  /** The grouping that was asked for. */
  readonly by: ExploreGrouping;
  readonly url: Url<ExploreState>;
}

type SortColumn = NonNullable<ExploreState['sort']>;
const NAMES = ['name', 'balance', 'lasts'] as const;
const MOST: Readonly<Record<ExploreRank, string>> = {
  cost: 'spend',
  requests: 'requests',
  failures: 'errors',
  tokens: 'tokens',
};

/** The groups with all figures. A click on a name filters by it. */
export function GroupTable({ query, by: asked, url }: GroupTableProps): ReactNode {
  const { data } = query;
  const { by = asked, rank = 'cost' } = data ?? {};
  const sorting = tableSorting<SortColumn>(url, { usual: rank, names: NAMES });
  const rangeMs = data ? data.stepMs * data.stepStartsMs.length : 1;
  const rows = useMemo(
    () => data && sortRows(data.groups, sorting.order, (group) => valueIn(group, sorting.by, rangeMs)),
    [data, sorting.by, sorting.order, rangeMs],
  );
  const narrow = ({ id = '' }: ExploreGroup) => {
    const [name, value] = by.startsWith('metadata.') ? ['metadata', `${by.slice(9)}=${id}`] : [by, id];
    if (name in LISTS) url.change({ [name]: [value] }, 'step');
  };
  if (by === 'none') return null;
  const isBalance = data?.groups.some(({ balanceNanoUsd }) => balanceNanoUsd !== undefined) ?? false;
  return (
    <Stale isStale={query.isPlaceholderData}>
      <Table
        caption="Groups"
        columns={columnsFor(by, data, { isBalance, rangeMs, narrow })}
        rows={rows}
        rowKey={({ id, label }) => id ?? `* ${label}`}
        density="dense"
        narrow="scroll"
        sorting={sorting}
        empty={<EmptyState icon="usage" title="No requests in this range" />}
      />
      {data && data.groupCount > data.groups.length && (
        <p className="muted small">
          The {data.groups.length} with most {MOST[rank]} of {formatCount(data.groupCount)}. The total counts all of
          them.
        </p>
      )}
    </Stale>
  );
}

function valueIn(group: ExploreGroup, column: SortColumn, rangeMs: number): string | number | undefined {
  const { label, totals, balanceNanoUsd } = group;
  if (column === 'name') return label;
  if (column === 'balance') return balanceNanoUsd === undefined ? undefined : Number(balanceNanoUsd);
  if (column === 'lasts') return balanceNanoUsd && daysLeft(balanceNanoUsd, totals.costNanoUsd, rangeMs);
  return MEASURE_VIEWS[column].of(totals);
}

interface ColumnOptions {
  readonly isBalance: boolean;
  readonly rangeMs: number;
  readonly narrow: (group: ExploreGroup) => void;
}

function columnsFor(
  by: ExploreGrouping,
  data: Explored | undefined,
  { isBalance, rangeMs, narrow }: ColumnOptions,
): readonly Column<ExploreGroup>[] {
  const name: Column<ExploreGroup> = {
    id: 'name',
    header: LISTS[by as ListName]?.label ?? by.slice('metadata.'.length),
    cell: (group) =>
      group.id === undefined ? (
        group.label
      ) : (
        <button type="button" className={styles.group} onClick={() => narrow(group)}>
          {group.id === '' ? 'None' : group.label}
        </button>
      ),
    total: 'Total',
  };
  const figures = shownMeasures(data?.totals).map((measure) =>
    figureColumn<ExploreGroup>(
      MEASURE_VIEWS[measure].label,
      ({ totals }) => <Figure totals={totals} measure={measure} />,
      { id: measure, total: data && <Figure totals={data.totals} measure={measure} /> },
    ),
  );
  const balances: readonly Column<ExploreGroup>[] = [
    figureColumn('Balance', ({ balanceNanoUsd }) => balanceNanoUsd && <Money nanoUsd={balanceNanoUsd} />, {
      id: 'balance',
    }),
    figureColumn(
      'Lasts',
      ({ balanceNanoUsd, totals }) => {
        const days = balanceNanoUsd && daysLeft(balanceNanoUsd, totals.costNanoUsd, rangeMs);
        if (typeof days !== 'number') return <span className="muted">–</span>;
        return <span className={days < 3 ? 'bad' : undefined}>{days > 999 ? '> 999 d' : `${days.toFixed(1)} d`}</span>;
      },
      { id: 'lasts' },
    ),
  ];
  return [name, ...(isBalance ? balances : []), ...figures];
}

export function GroupsCsv({ query: { data, isPlaceholderData } }: Pick<GroupTableProps, 'query'>): ReactNode {
  const save = () => {
    if (data === undefined) return;
    const url = URL.createObjectURL(new Blob([...groupsCsv(data)], { type: 'text/csv' }));
    const link = Object.assign(document.createElement('a'), { href: url, download: `by-${data.by}.csv` });
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Button icon="download" disabled={data === undefined || isPlaceholderData} onClick={save}>
      Export CSV
    </Button>
  );
}
