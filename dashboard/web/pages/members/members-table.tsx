import type { ReactNode } from 'react';
import type { MemberView } from '#contract/people.ts';
import type { Role } from '#contract/session.ts';
import { Badge, StatusPill } from '../../components/badge.tsx';
import { Instant, LastTime } from '../../components/figures.tsx';
import type { MenuAction } from '../../overlays/menu-popup.tsx';
import { actionsColumn } from '../../table/actions-column.tsx';
import { type Column, Table } from '../../table/table.tsx';
import type { OnMemberAction } from './member-status.ts';
import { type MemberState, memberState, whyStays } from './member-status.ts';
import styles from './members.module.css';

export interface MembersTableProps {
  /** All members. Absent while loading. */
  readonly members: readonly MemberView[] | undefined;
  /** Members that match the search. */
  readonly shown: readonly MemberView[] | undefined;
  /** The signed-in user and their role. */
  readonly userId: string;
  readonly role: Role;
  readonly onAct: OnMemberAction;
  readonly empty: ReactNode;
}

export function MembersTable(props: MembersTableProps): ReactNode {
  return (
    <Table
      caption="Members"
      columns={columnsFor(props)}
      rows={props.shown}
      rowKey={({ userId }) => userId}
      empty={props.empty}
      skeletonRows={4}
    />
  );
}

const STATES: Readonly<Record<MemberState, { readonly tone: 'good' | 'warn' | 'neutral'; readonly word: string }>> = {
  active: { tone: 'good', word: 'Active' },
  invited: { tone: 'warn', word: 'Invited' },
  disabled: { tone: 'neutral', word: 'Disabled' },
};

function columnsFor(props: MembersTableProps): readonly Column<MemberView>[] {
  return [
    {
      id: 'email',
      header: 'Person',
      width: '36%',
      cell: ({ email, userId }) => (
        <span className={styles.person}>
          <span>{email}</span>
          {userId === props.userId && <span className="muted">you</span>}
        </span>
      ),
    },
    {
      id: 'role',
      header: 'Role',
      cell: ({ role }) => (
        <Badge tone={role === 'owner' ? 'accent' : 'neutral'}>{role === 'owner' ? 'Owner' : 'Member'}</Badge>
      ),
    },
    {
      id: 'state',
      header: 'State',
      cell: (member) => {
        const { tone, word } = STATES[memberState(member)];
        return <StatusPill tone={tone}>{word}</StatusPill>;
      },
    },
    {
      id: 'seen',
      header: 'Last signed in',
      cell: ({ lastSignedInAtMs }) => <LastTime atMs={lastSignedInAtMs} />,
    },
    {
      id: 'since',
      header: 'Member since',
      hideBelow: 'medium',
      cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
    },
    actionsColumn({ nameOf: ({ email }) => email, width: '56px', actions: (member) => actionsOf(member, props) }),
  ];
}

function actionsOf(member: MemberView, { members = [], role, onAct }: MembersTableProps): readonly MenuAction[] {
  const reason = whyStays(members, member, role);
  const stays = reason === undefined ? {} : { disabled: true, detail: reason };
  const link: readonly MenuAction[] =
    memberState(member) === 'invited'
      ? [{ label: 'New invitation link', icon: 'copy', onSelect: () => onAct({ what: 'link', of: member }) }]
      : [];
  return [
    ...link,
    {
      label: member.role === 'owner' ? 'Make a member' : 'Make an owner',
      icon: 'members',
      ...stays,
      onSelect: () => onAct({ what: 'role', of: member }),
    },
    { label: 'Remove', icon: 'trash', tone: 'bad', ...stays, onSelect: () => onAct({ what: 'remove', of: member }) },
  ];
}
