import type { ReactNode } from 'react';
import type { OrganizationRow } from '#contract/operator.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Count, Instant, Money } from '../../components/figures.tsx';
import type { OnOrganizationAction } from '../../organizations/organization-dialogs.tsx';
import { actionsColumn } from '../../table/actions-column.tsx';
import { type Column, Table } from '../../table/table.tsx';
import styles from './organizations.module.css';

export interface OrganizationsTableProps {
  /** Absent while loading. */
  readonly rows: readonly OrganizationRow[] | undefined;
  readonly onOpen: (organization: OrganizationRow) => void;
  readonly onAct: OnOrganizationAction;
  readonly empty: ReactNode;
}

export function OrganizationsTable({ rows, onOpen, onAct, empty }: OrganizationsTableProps): ReactNode {
  return (
    <Table
      caption="Organizations"
      columns={[...COLUMNS, actions(onAct)]}
      rows={rows}
      rowKey={({ id }) => id}
      onOpen={onOpen}
      empty={empty}
    />
  );
}

const COLUMNS: readonly Column<OrganizationRow>[] = [
  {
    id: 'name',
    header: 'Organization',
    cell: ({ id, name }) => (
      <div className={styles.name}>
        <strong>{name}</strong>
        <code className={styles.id}>{id}</code>
      </div>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ suspendedAtMs }) =>
      suspendedAtMs === undefined ? (
        <StatusPill tone="good">Active</StatusPill>
      ) : (
        <StatusPill tone="bad">Suspended</StatusPill>
      ),
  },
  {
    id: 'balance',
    header: 'Balance',
    numeric: true,
    cell: ({ balanceNanoUsd }) => (
      <span className={balanceNanoUsd.startsWith('-') ? styles.negative : undefined}>
        <Money nanoUsd={balanceNanoUsd} />
      </span>
    ),
  },
  {
    id: 'spent',
    header: 'Spent today',
    numeric: true,
    cell: ({ spentTodayNanoUsd }) => <Money nanoUsd={spentTodayNanoUsd} />,
  },
  { id: 'keys', header: 'Usable keys', numeric: true, cell: ({ usableKeys }) => <Count value={usableKeys} /> },
  {
    id: 'created',
    header: 'Created',
    hideBelow: 'wide',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];

function actions(onAct: OnOrganizationAction): Column<OrganizationRow> {
  return actionsColumn({
    nameOf: ({ name }) => name,
    actions: ({ id, suspendedAtMs }) => [
      { label: 'Add credit', icon: 'credits', onSelect: () => onAct({ what: 'credit', id }) },
      { label: 'Edit limits', icon: 'edit', onSelect: () => onAct({ what: 'edit', id }) },
      suspendedAtMs === undefined
        ? { label: 'Suspend', icon: 'pause', tone: 'bad', onSelect: () => onAct({ what: 'suspension', id }) }
        : { label: 'Resume', icon: 'play', onSelect: () => onAct({ what: 'suspension', id }) },
    ],
  });
}
