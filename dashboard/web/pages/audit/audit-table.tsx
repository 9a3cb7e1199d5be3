import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AuditEventView } from '#contract/people.ts';
import { Instant } from '../../components/figures.tsx';
import { type Column, Table } from '../../table/table.tsx';
import styles from './audit.module.css';
import { actionLabel, type ChangedValue, changeLines } from './audit-labels.ts';

export interface AuditTableProps {
  /** Absent while loading. */
  readonly events: readonly AuditEventView[] | undefined;
  /** For operators, who see all organizations. */
  readonly withOrganization?: boolean;
  readonly empty: ReactNode;
}

export function AuditTable({ events, withOrganization = false, empty }: AuditTableProps): ReactNode {
  return (
    <Table
      caption="Audit log, newest first"
      columns={withOrganization ? [ACTION, CHANGES, ORGANIZATION, ...BY] : [ACTION, CHANGES, ...BY]}
      rows={events}
      rowKey={({ id }) => id}
      skeletonRows={12}
      empty={empty}
    />
  );
}

const ACTION: Column<AuditEventView> = {
  id: 'action',
  header: 'What',
  width: '27%',
  cell: (event) => <Action of={event} />,
};

const CHANGES: Column<AuditEventView> = {
  id: 'changes',
  header: 'Changes',
  width: '27%',
  cell: (event) => <Changes of={event} />,
};

const ORGANIZATION: Column<AuditEventView> = {
  id: 'organization',
  header: 'Organization',
  hideBelow: 'wide',
  cell: ({ organizationId, organizationName }) =>
    organizationId === undefined ? null : (
      <Link className={styles.organization} to="/o/$organization/overview" params={{ organization: organizationId }}>
        {organizationName ?? organizationId}
      </Link>
    ),
};

const BY: readonly Column<AuditEventView>[] = [
  {
    id: 'actor',
    header: 'Who',
    cell: ({ actor, address }) => (
      <div className={styles.who}>
        <span>{actor}</span>
        <span className={styles.detail}>{address === undefined ? 'command line' : `from ${address}`}</span>
      </div>
    ),
  },
  { id: 'at', header: 'When', cell: ({ atMs }) => <Instant atMs={atMs} show="short" /> },
];

function Action({ of: event }: { readonly of: AuditEventView }): ReactNode {
  const { before, name, after } = actionLabel(event);
  return (
    <span className={styles.action}>
      {before}
      {name !== undefined && <strong>{name}</strong>}
      {after}
    </span>
  );
}

function Changes({ of: event }: { readonly of: AuditEventView }): ReactNode {
  const lines = changeLines(event);
  if (lines.length === 0) return null;
  return (
    <ul className={styles.changes}>
      {lines.map(({ field, label, before, after }) => (
        <li key={field}>
          <span className={styles.label}>{label}</span>{' '}
          {before && (
            <>
              <span className={styles.before}>
                <Value of={before} />
              </span>
              <span aria-hidden="true"> → </span>
              <span className="visually-hidden"> now </span>
            </>
          )}
          <Value of={after} />
        </li>
      ))}
    </ul>
  );
}

function Value({ of: value }: { readonly of: ChangedValue }): ReactNode {
  if (value.kind === 'instant') return <Instant atMs={value.atMs} show="short" />;
  return value.kind === 'none' ? <span className={styles.none}>{value.text}</span> : value.text;
}
