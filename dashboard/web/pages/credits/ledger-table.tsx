import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { LedgerEntryView } from '#contract/money.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatMoneyInFull } from '../../format/format-money.ts';
import { type Column, Table } from '../../table/table.tsx';
import { entryTitle, signedAmount } from './ledger-entry.ts';
import styles from './ledger-table.module.css';

export interface LedgerTableProps {
  readonly organization: string;
  /** Absent while loading. */
  readonly entries: readonly LedgerEntryView[] | undefined;
  readonly filtered: boolean;
}

export function LedgerTable({ organization, entries, filtered }: LedgerTableProps): ReactNode {
  const columns = useMemo(() => columnsFor(organization), [organization]);
  return (
    <Table
      caption="Ledger"
      columns={columns}
      rows={entries}
      rowKey={({ sequence }) => String(sequence)}
      skeletonRows={12}
      empty={
        filtered ? (
          <EmptyState icon="credits" title="No matching entries">
            Choose another time or kind.
          </EmptyState>
        ) : (
          <EmptyState icon="credits" title="No entries yet">
            Credits appear here when they are paid in, charges a moment after each request.
          </EmptyState>
        )
      }
    />
  );
}

const TONES = { Charge: 'neutral', Credit: 'good', Correction: 'warn' } as const;

function columnsFor(organization: string): readonly Column<LedgerEntryView>[] {
  return [
    { id: 'time', header: 'Time', cell: ({ atMs }) => <Instant atMs={atMs} />, width: '190px' },
    {
      id: 'kind',
      header: 'Kind',
      cell: (entry) => <StatusPill tone={TONES[entryTitle(entry)]}>{entryTitle(entry)}</StatusPill>,
      width: '120px',
    },
    { id: 'about', header: 'About', cell: (entry) => <About organization={organization} entry={entry} /> },
    { id: 'amount', header: 'Amount', numeric: true, cell: (entry) => <Amount entry={entry} /> },
    {
      id: 'balance',
      header: 'Balance after',
      numeric: true,
      cell: ({ balanceNanoUsd }) => formatMoneyInFull(balanceNanoUsd),
    },
  ];
}

function Amount({ entry }: { readonly entry: LedgerEntryView }): ReactNode {
  return (
    <span className={BigInt(entry.amountNanoUsd) > 0n ? styles.credit : undefined}>
      {signedAmount(entry.amountNanoUsd)}
    </span>
  );
}

/** For a charge the request, for a credit its note and actor. */
function About({ organization, entry }: { readonly organization: string; readonly entry: LedgerEntryView }): ReactNode {
  const { generationId, model, keyName, note, reference, actor } = entry;
  if (generationId !== undefined) {
    return (
      <span className={styles.about}>
        <span className={styles.line}>{[model, keyName].filter((part) => part !== undefined).join(' · ')}</span>
        <Link
          to="/o/$organization/requests"
          params={{ organization }}
          search={{ search: generationId }}
          className={styles.detail}
        >
          <code>{generationId}</code>
        </Link>
      </span>
    );
  }
  return (
    <span className={styles.about}>
      <span>{note ?? 'No note'}</span>
      <span className={styles.detail}>
        {reference !== undefined && <>Reference {reference} · </>}
        by {actor}
      </span>
    </span>
  );
}
