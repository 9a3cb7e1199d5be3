import { type ReactNode, useRef } from 'react';
import type { MemberView } from '#contract/people.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { Badge, Instant, LastTime } from '../../components/values.tsx';
import { SearchFilter } from '../../forms/filter-bar.tsx';
import { type OpenOverlay, useOverlay } from '../../overlays/dialog.tsx';
import type { MenuAction } from '../../overlays/menu-popup.tsx';
import { Person, PersonState } from '../../people/people.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { ListPage } from '../../table/list-page.tsx';
import { actionsColumn, type Column } from '../../table/table.tsx';
import { membersSearch } from '../searches.ts';
import { InviteDialog, NewLinkDialog, RemoveDialog, type RemoveDialogProps, RoleDialog } from './member-dialogs.tsx';
import { findMembers, whyStays } from './member-status.ts';

export function MembersPage(): ReactNode {
  const { role } = useOrganization();
  const { user } = useSession();
  const url = useUrl(membersSearch);
  const { search, change } = url;
  const [overlay, open] = useOverlay();
  const query = useAsk('GET /api/organizations/:organization/members');
  const members = query.data?.members;
  const button = useRef<HTMLButtonElement>(null);
  const inviteButton = (
    <Button ref={button} tone="primary" icon="plus" onClick={() => change({ dialog: 'invite' }, 'step')}>
      Invite
    </Button>
  );
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
        {
          header: 'Person',
          width: '36%',
          cell: ({ email, userId }) => <Person email={email} isSelf={userId === user.id} />,
        },
        ...COLUMNS,
        actionsColumn<MemberView>({
          nameOf: ({ email }) => email,
          width: '56px',
          actions: (of) =>
            actionsOf({ of, userId: user.id, inviteButton: button }, whyStays(members ?? [], of, role), open),
        }),
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
      {search.dialog === 'invite' && role !== 'member' && (
        <InviteDialog open={open} onClose={() => change({ dialog: undefined })} />
      )}
      {overlay}
    </ListPage>
  );
}

/** `whyKept`: the reason why role and membership cannot be changed, if there is one. */
function actionsOf(
  props: Omit<RemoveDialogProps, 'onClose'>,
  whyKept: string | undefined,
  open: OpenOverlay,
): readonly MenuAction[] {
  const { of } = props;
  const kept = whyKept === undefined ? {} : { disabled: true, detail: whyKept };
  const newLink = {
    label: 'New invitation link',
    icon: 'copy',
    onSelect: () => open((onClose) => <NewLinkDialog of={of} open={open} onClose={onClose} />),
  } as const;
  return [
    ...(of.invited && !of.disabled ? [newLink] : []),
    {
      label: of.role === 'owner' ? 'Make a member' : 'Make an owner',
      icon: 'members',
      ...kept,
      onSelect: () => open((onClose) => <RoleDialog {...props} onClose={onClose} />),
    },
    {
      label: 'Remove',
      icon: 'trash',
      tone: 'bad',
      ...kept,
      onSelect: () => open((onClose) => <RemoveDialog {...props} onClose={onClose} />),
    },
  ];
}

const COLUMNS: readonly Column<MemberView>[] = [
  {
    header: 'Role',
    cell: ({ role }) => (role === 'owner' ? <Badge tone="accent">Owner</Badge> : <Badge>Member</Badge>),
  },
  { header: 'State', cell: PersonState },
  { header: 'Last signed in', cell: ({ lastSignedInAtMs }) => <LastTime atMs={lastSignedInAtMs} /> },
  {
    header: 'Member since',
    hideBelow: 'medium',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];
