import { type ReactNode, useRef, useState } from 'react';
import type { MemberView } from '#contract/people.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { Badge, Instant, LastTime, StatusPill } from '../../components/values.tsx';
import type { MenuAction } from '../../overlays/menu-popup.tsx';
import { SearchFilter } from '../../search/filters.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { ListPage } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { actionsColumn } from '../../table/table.tsx';
import { membersSearch } from '../searches.ts';
import { MemberDialogs } from './member-dialogs.tsx';
import { findMembers, type MemberAction, memberState, whyStays } from './member-status.ts';

export function MembersPage(): ReactNode {
  const { role } = useOrganization();
  const { user } = useSession();
  const url = useUrl(membersSearch);
  const { search, change } = url;
  const [action, setAction] = useState<MemberAction>();
  const query = useAsk('GET /api/organizations/:organization/members');
  const members = query.data?.members;
  const button = useRef<HTMLButtonElement>(null);
  const inviteButton = (
    <Button ref={button} tone="primary" icon="plus" onClick={() => change({ dialog: 'invite' }, 'step')}>
      Invite
    </Button>
  );
  const actionsOf = (member: MemberView): readonly MenuAction[] => {
    const reason = whyStays(members ?? [], member, role);
    const stays = reason === undefined ? {} : { disabled: true, detail: reason };
    const act = (what: MemberAction['what']) => () => setAction({ what, of: member });
    return [
      ...(memberState(member) === 'invited'
        ? [{ label: 'New invitation link', icon: 'copy', onSelect: act('link') } as const]
        : []),
      {
        label: member.role === 'owner' ? 'Make a member' : 'Make an owner',
        icon: 'members',
        ...stays,
        onSelect: act('role'),
      },
      { label: 'Remove', icon: 'trash', tone: 'bad', ...stays, onSelect: act('remove') },
    ];
  };
  return (
    <ListPage
      title="Members"
      description="Who can sign in and see this organization."
      actions={role !== 'member' && inviteButton}
      url={url}
      filters={<SearchFilter label="Search by email" url={url} />}
      query={query}
      nouns={['member', 'members']}
      caption="Members"
      columns={[
        personColumn(user.id),
        ...COLUMNS,
        actionsColumn({ nameOf: ({ email }) => email, width: '56px', actions: actionsOf }),
      ]}
      rows={members && findMembers(members, search.search ?? '')}
      rowKey={({ userId }) => userId}
      skeletonRows={4}
      empty={
        <EmptyState icon="members" title="This organization has no members yet" action={inviteButton}>
          Invite an owner, who can then invite everyone else.
        </EmptyState>
      }
    >
      <MemberDialogs
        userId={user.id}
        inviting={search.dialog === 'invite' && role !== 'member'}
        onInvitingEnds={() => change({ dialog: undefined })}
        action={action}
        onAct={setAction}
        inviteButton={button}
      />
    </ListPage>
  );
}

const STATES = {
  active: <StatusPill tone="good">Active</StatusPill>,
  invited: <StatusPill tone="warn">Invited</StatusPill>,
  disabled: <StatusPill tone="neutral">Disabled</StatusPill>,
};

function personColumn(self: string): Column<MemberView> {
  return {
    header: 'Person',
    width: '36%',
    cell: ({ email, userId }) => (
      <span className="row">
        <span>{email}</span>
        {userId === self && <span className="muted">you</span>}
      </span>
    ),
  };
}

const COLUMNS: readonly Column<MemberView>[] = [
  {
    header: 'Role',
    cell: ({ role }) => (role === 'owner' ? <Badge tone="accent">Owner</Badge> : <Badge>Member</Badge>),
  },
  { header: 'State', cell: (member) => STATES[memberState(member)] },
  { header: 'Last signed in', cell: ({ lastSignedInAtMs }) => <LastTime atMs={lastSignedInAtMs} /> },
  {
    header: 'Member since',
    hideBelow: 'medium',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];
