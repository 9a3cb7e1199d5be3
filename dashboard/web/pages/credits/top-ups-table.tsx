import type { ReactNode } from 'react';
import type { TopUpView } from '#contract/top-ups.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant } from '../../components/figures.tsx';
import { Icon } from '../../components/icon.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatMoneyInFull } from '../../format/format-money.ts';
import { type Column, Table } from '../../table/table.tsx';
import styles from './payments.module.css';
import { topUpState } from './top-up-state.ts';

export interface TopUpsTableProps {
  readonly topUps: readonly TopUpView[];
  readonly hasOlder: boolean;
}

export function TopUpsTable({ topUps, hasOlder }: TopUpsTableProps): ReactNode {
  return (
    <>
      <Table
        caption="Payments"
        columns={COLUMNS}
        rows={topUps}
        rowKey={({ id }) => id}
        empty={
          <EmptyState icon="credits" title="No payments yet">
            Payments by card appear here, with their receipts.
          </EmptyState>
        }
      />
      {hasOlder && <p className="muted">Older payments are in the ledger below, under Credits.</p>}
    </>
  );
}

const COLUMNS: readonly Column<TopUpView>[] = [
  { id: 'time', header: 'Time', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, width: '190px' },
  { id: 'state', header: 'State', cell: (topUp) => <State topUp={topUp} /> },
  {
    id: 'by',
    header: 'By',
    cell: ({ automatic, createdBy }) => (automatic ? 'Automatic top-up' : createdBy),
    hideBelow: 'medium',
  },
  { id: 'receipt', header: 'Receipt', cell: (topUp) => <Receipt topUp={topUp} /> },
  { id: 'amount', header: 'Amount', numeric: true, cell: ({ amountNanoUsd }) => formatMoneyInFull(amountNanoUsd) },
];

function State({ topUp }: { readonly topUp: TopUpView }): ReactNode {
  const { tone, word } = topUpState(topUp);
  const isReturned = BigInt(topUp.returnedNanoUsd) > 0n;
  return (
    <div className={styles.state}>
      <StatusPill tone={tone}>{word}</StatusPill>
      {isReturned && <span className="muted">{formatMoneyInFull(topUp.returnedNanoUsd)} returned</span>}
      {topUp.failure !== undefined && <span className="muted">{topUp.failure}</span>}
    </div>
  );
}

function Receipt({ topUp: { receiptUrl } }: { readonly topUp: TopUpView }): ReactNode {
  if (receiptUrl === undefined) return <span className="muted">None</span>;
  return (
    <a href={receiptUrl} target="_blank" rel="noreferrer">
      Receipt <Icon name="external" />
      <span className="visually-hidden">(opens in a new tab)</span>
    </a>
  );
}
