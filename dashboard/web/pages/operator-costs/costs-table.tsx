import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { CostRowView } from '#contract/costs.ts';
import { countOf } from '#core/count-of.ts';
import { Count, Money } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatUtcDay } from '../../format/format-instant.ts';
import { formatCount, formatPercent } from '../../format/format-number.ts';
import { LoadMore, useFirstRows } from '../../table/load-more.tsx';
import { Table, type Column as TableColumn } from '../../table/table.tsx';
import { amountOf, sortCosts, subjectOf } from './cost-rows.ts';
import styles from './costs.module.css';
import { COLUMNS, type Column, type Measure, type Order, type Subject } from './costs-url.ts';

export interface CostsTableProps {
  /** Absent while loading. */
  readonly rows: readonly CostRowView[] | undefined;
  readonly total: CostRowView | undefined;
  readonly subject: Subject;
  readonly isDaily: boolean;
  readonly sorting: { readonly sort: Column; readonly order: Order; readonly onSort: (column: Column) => void };
}

export function CostsTable({ rows, total, subject, isDaily, sorting }: CostsTableProps): ReactNode {
  const { sort, order, onSort } = sorting;
  const sorted = useMemo(() => rows && sortCosts(rows, sort, order), [rows, sort, order]);
  const columns = useMemo(() => columnsFor(subject, isDaily, total), [subject, isDaily, total]);
  const { first, hasMore, showMore } = useFirstRows(sorted);
  return (
    <>
      <Table
        caption="Costs"
        columns={columns}
        rows={first}
        rowKey={(row) => [row.day, row.organizationId ?? subjectOf(row)].join(' ')}
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
          <EmptyState icon="usage" title="Nothing was charged or lost in these days">
            Choose other days.
          </EmptyState>
        }
      />
      {hasMore && (
        <LoadMore
          hasMore
          busy={false}
          onLoad={showMore}
          shown={`${formatCount(first?.length ?? 0)} of ${countOf(sorted?.length ?? 0, 'row')}`}
        />
      )}
    </>
  );
}

const HEADERS: Readonly<Record<Subject, string>> = {
  model: 'Model',
  provider: 'Provider',
  organization: 'Organization',
};
const AMOUNTS: readonly (readonly [Measure, string])[] = [
  ['list', 'List price'],
  ['revenue', 'Revenue'],
  ['cost', 'Cost'],
  ['margin', 'Margin'],
  ['losses', 'Losses'],
];

function columnsFor(
  subject: Subject,
  isDaily: boolean,
  total: CostRowView | undefined,
): readonly TableColumn<CostRowView>[] {
  const day: TableColumn<CostRowView> = {
    id: 'day',
    header: 'Day (UTC)',
    cell: (row) => <span className={styles.whole}>{row.day && formatUtcDay(row.day)}</span>,
    total: 'Total',
  };
  const name: TableColumn<CostRowView> = {
    id: 'subject',
    header: HEADERS[subject],
    cell: (row) => <Subjected row={row} />,
    total: isDaily ? '' : 'Total',
  };
  const amounts = AMOUNTS.map(([measure, header]) => ({
    id: measure,
    header,
    numeric: true,
    cell: (row: CostRowView) => <Amount row={row} measure={measure} />,
    total: total && <Amount row={total} measure={measure} />,
  }));
  const requests: TableColumn<CostRowView> = {
    id: 'requests',
    header: 'Requests',
    numeric: true,
    cell: (row) => <Count value={row.requests} />,
    total: total && <Count value={total.requests} />,
  };
  return [...(isDaily ? [day] : []), name, ...amounts, requests];
}

function Subjected({ row }: { readonly row: CostRowView }): ReactNode {
  const { organizationId } = row;
  if (organizationId === undefined) return <span className={styles.whole}>{subjectOf(row)}</span>;
  return (
    <Link
      className={styles.name}
      to="/o/$organization/usage"
      params={{ organization: organizationId }}
      data-hint={organizationId}
    >
      {subjectOf(row)}
    </Link>
  );
}

const UNKNOWN = 'Not known: a target that served these requests has no cost_usd_per_million_tokens';

function Amount({ row, measure }: { readonly row: CostRowView; readonly measure: Measure }): ReactNode {
  const amount = amountOf(row, measure);
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
      {share !== undefined && <span className={styles.share}> {formatPercent(share)}</span>}
    </>
  );
}
