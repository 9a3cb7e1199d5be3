import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { UserRow } from '#contract/operator.ts';
import { Badge, StatusPill } from '../../components/badge.tsx';
import { Instant, LastTime } from '../../components/figures.tsx';
import { actionsColumn } from '../../table/actions-column.tsx';
import { type Column, Table } from '../../table/table.tsx';
import type { OnUserAction } from './user-dialogs.tsx';
import styles from './users.module.css';

export interface UsersTableProps {
  /** Absent while loading. */
  readonly rows: readonly UserRow[] | undefined;
  /** The signed-in user. */
  readonly selfId: string;
  readonly onAct: OnUserAction;
  readonly empty: ReactNode;
}

export function UsersTable({ rows, selfId, onAct, empty }: UsersTableProps): ReactNode {
  return (
    <Table
      caption="Users"
      columns={[person(selfId), ...COLUMNS, actions(selfId, onAct)]}
      rows={rows}
      rowKey={({ id }) => id}
      empty={empty}
    />
  );
}

function person(selfId: string): Column<UserRow> {
  return {
    id: 'user',
    header: 'User',
    cell: ({ id, email, isOperator }) => (
      <span className={styles.person}>
        {email}
        {id === selfId && <span className="muted">you</span>}
        {isOperator && <Badge tone="accent">Operator</Badge>}
      </span>
    ),
  };
}

const COLUMNS: readonly Column<UserRow>[] = [
  { id: 'state', header: 'State', cell: (user) => <State of={user} /> },
  {
    id: 'organizations',
    header: 'Organizations',
    cell: ({ memberships }) =>
      memberships.length === 0 ? (
        <span className="muted">None</span>
      ) : (
        <ul className={styles.organizations}>
          {memberships.map(({ organizationId, name, role }) => (
            <li key={organizationId}>
              <Link to="/o/$organization/members" params={{ organization: organizationId }}>
                {name}
              </Link>{' '}
              <span className="muted">{role}</span>
            </li>
          ))}
        </ul>
      ),
  },
  {
    id: 'seen',
    header: 'Last signed in',
    cell: ({ lastSignedInAtMs }) => <LastTime atMs={lastSignedInAtMs} />,
  },
  {
    id: 'created',
    header: 'Created',
    hideBelow: 'wide',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];

function State({ of: { invited, disabledAtMs } }: { readonly of: UserRow }): ReactNode {
  if (disabledAtMs !== undefined) return <StatusPill tone="bad">Disabled</StatusPill>;
  return invited ? <StatusPill tone="warn">Invited</StatusPill> : <StatusPill tone="good">Active</StatusPill>;
}

/**
 * Prevents users from locking themselves out. Their own password is changed on the account page.
 */
function actions(selfId: string, onAct: OnUserAction): Column<UserRow> {
  return actionsColumn({
    nameOf: ({ email }) => email,
    actions(user) {
      const disablement = () => onAct({ what: 'disablement', of: user });
      if (user.id === selfId) return [];
      if (user.disabledAtMs !== undefined) return [{ label: 'Enable', icon: 'play', onSelect: disablement }];
      return [
        {
          label: user.invited ? 'New invitation link' : 'Link to reset the password',
          icon: 'lock',
          onSelect: () => onAct({ what: 'link', of: user }),
        },
        { label: 'Disable', icon: 'pause', tone: 'bad', onSelect: disablement },
      ];
    },
  });
}
