import { type ReactNode, useMemo, useState } from 'react';
import type { UsageGroupName, UsageRowView } from '#contract/money.ts';
import { countOf } from '#core/count-of.ts';
import { Count, Money } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatUtcDay } from '../../format/format-instant.ts';
import { formatCount } from '../../format/format-number.ts';
import { LoadMore } from '../../table/load-more.tsx';
import { Table, type Column as TableColumn } from '../../table/table.tsx';
import { sortUsage } from './sort-usage.ts';
import styles from './usage.module.css';
import { COLUMNS, type Column, type Order } from './usage-url.ts';

export interface UsageTableProps {
  /** Absent while loading. */
  readonly rows: readonly UsageRowView[] | undefined;
  readonly total: UsageRowView | undefined;
  readonly groups: readonly UsageGroupName[];
  /** True if filtered by key or model. */
  readonly narrowed: boolean;
  readonly sorting: { readonly sort: Column; readonly order: Order; readonly onSort: (column: Column) => void };
}

const STEP_ROWS = 100;

export function UsageTable({ rows, total, groups, narrowed, sorting }: UsageTableProps): ReactNode {
  const { sort, order, onSort } = sorting;
  const [limit, setLimit] = useState(STEP_ROWS);
  const sorted = useMemo(() => rows && sortUsage(rows, sort, order), [rows, sort, order]);
  const columns = useMemo(() => columnsFor(groups, total), [groups, total]);
  const shown = sorted?.slice(0, limit);
  const more = (sorted?.length ?? 0) - (shown?.length ?? 0);
  return (
    <>
      <Table
        caption="Usage"
        columns={columns}
        rows={shown}
        rowKey={({ day, model, keyId }) => [day, model, keyId].join(' ')}
        narrow="scroll"
        sorting={{
          by: sort,
          order,
          onSort: (id) => {
            const column = COLUMNS.find((name) => name === id);
            if (column) onSort(column);
          },
        }}
        empty={
          <EmptyState icon="usage" title="No usage in these days">
            {narrowed ? 'Choose other days, another key or another model.' : 'Choose other days, or send a request.'}
          </EmptyState>
        }
      />
      {more > 0 && (
        <LoadMore
          hasMore
          busy={false}
          onLoad={() => setLimit(limit + STEP_ROWS)}
          shown={`${formatCount(limit)} of ${countOf(limit + more, 'row')}`}
        />
      )}
    </>
  );
}

const GROUP_COLUMNS: Readonly<Record<UsageGroupName, TableColumn<UsageRowView>>> = {
  day: {
    id: 'day',
    header: 'Day (UTC)',
    cell: ({ day }) => <span className={styles.whole}>{day && formatUtcDay(day)}</span>,
  },
  model: { id: 'model', header: 'Model', cell: ({ model }) => <span className={styles.whole}>{model}</span> },
  key: {
    id: 'key',
    header: 'Key',
    cell: ({ keyName, keyId }) => (
      <span className={styles.key} data-hint={keyName === keyId ? keyId : `${keyName} · ${keyId}`}>
        {keyName ?? keyId}
      </span>
    ),
  },
};

type Figure =
  | 'requests'
  | 'promptTokens'
  | 'cachedTokens'
  | 'cacheWriteTokens'
  | 'completionTokens'
  | 'reasoningTokens';

/**
 * All but the first are tokens. Cached tokens and cache writes are part of the input, reasoning
 * tokens of the output.
 */
const FIGURES: readonly (readonly [Column, string, Figure])[] = [
  ['requests', 'Requests', 'requests'],
  ['input', 'Input', 'promptTokens'],
  ['cached', 'Cached', 'cachedTokens'],
  ['cache-writes', 'Cache writes', 'cacheWriteTokens'],
  ['output', 'Output', 'completionTokens'],
  ['reasoning', 'Reasoning', 'reasoningTokens'],
];

function columnsFor(
  groups: readonly UsageGroupName[],
  total: UsageRowView | undefined,
): readonly TableColumn<UsageRowView>[] {
  const names = groups.map((group, place) => ({ ...GROUP_COLUMNS[group], total: place === 0 ? 'Total' : '' }));
  const figures = FIGURES.map(([id, header, figure]) => ({
    id,
    header,
    numeric: true,
    cell: (row: UsageRowView) => <Count value={row[figure]} />,
    total: total && <Count value={total[figure]} />,
  }));
  const cost: TableColumn<UsageRowView> = {
    id: 'cost',
    header: 'Cost',
    numeric: true,
    cell: ({ costNanoUsd }) => <Money nanoUsd={costNanoUsd} />,
    total: total && <Money nanoUsd={total.costNanoUsd} />,
  };
  // The cost comes first, where a phone shows it without scrolling.
  return [...names, cost, ...figures];
}
