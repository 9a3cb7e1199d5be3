import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import { useSession } from '../../api/session.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, UnlessFailed } from '../../components/states.tsx';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { LoadMore, useFirstRows } from '../../table/load-more.tsx';
import { MemberDialogs } from './member-dialogs.tsx';
import type { MemberAction } from './member-status.ts';
import { findMembers } from './member-status.ts';
import { MembersTable } from './members-table.tsx';

const route = getRouteApi('/app/o/$organization/members');

export function MembersPage(): ReactNode {
  const { id: organization, role } = useOrganization();
  const { user } = useSession();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [action, setAction] = useState<MemberAction>();
  const query = useAsk('GET /api/organizations/:organization/members', { params: { organization } });
  const members = query.data?.members;
  const shown = members && findMembers(members, search.search ?? '');
  const { first, hasMore, showMore } = useFirstRows(shown);
  const onChange = (next: typeof search, replace = true) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false });
  const onInvite = () => onChange({ dialog: 'invite' }, false);
  const button = useRef<HTMLButtonElement>(null);
  const inviteButton = (
    <Button ref={button} tone="primary" icon="plus" onClick={onInvite}>
      Invite
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Members"
        description="Who can sign in and see this organization."
        actions={role !== 'member' && inviteButton}
      />
      <UnlessFailed query={query}>
        <FilterBar active={search.search !== undefined} onClear={() => onChange({ search: undefined })}>
          <SearchBox
            label="Search by email"
            value={search.search}
            live
            onSearch={(text) => onChange({ search: text })}
          />
        </FilterBar>
        <MembersTable
          members={members}
          shown={first}
          userId={user.id}
          role={role}
          onAct={setAction}
          empty={
            <NoMembers
              isEmpty={members?.length === 0}
              inviteButton={inviteButton}
              onClear={() => onChange({ search: undefined })}
            />
          }
        />
      </UnlessFailed>
      {hasMore && (
        <LoadMore hasMore busy={false} onLoad={showMore} shown={`${first?.length} of ${shown?.length} members`} />
      )}
      <MemberDialogs
        organization={organization}
        userId={user.id}
        inviting={search.dialog === 'invite' && role !== 'member'}
        onInvitingEnds={() => onChange({ dialog: undefined })}
        action={action}
        onAct={setAction}
        inviteButton={button}
      />
    </>
  );
}

interface NoMembersProps {
  /** True if there are no members at all, not only no match. */
  readonly isEmpty: boolean;
  readonly inviteButton: ReactNode;
  readonly onClear: () => void;
}

function NoMembers({ isEmpty, inviteButton, onClear }: NoMembersProps): ReactNode {
  if (!isEmpty)
    return <EmptyState icon="search" title="No match" action={<Button onClick={onClear}>Clear the search</Button>} />;
  return (
    <EmptyState icon="members" title="This organization has no members yet" action={inviteButton}>
      Invite an owner, who can then invite everybody else.
    </EmptyState>
  );
}
