import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useRef, useState } from 'react';
import { useSession } from '../../api/session.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { FilterBar, SearchBox } from '../../components/filter-bar.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import type { MemberAction } from './member-action.ts';
import { MemberOverlays } from './member-overlays.tsx';
import { findMembers } from './member-standing.ts';
import type { MembersSearch } from './members-search.ts';
import { MembersTable } from './members-table.tsx';

export function MembersPage(): ReactNode {
  const { id: organization, role } = useOrganization();
  const { user } = useSession();
  const search = useSearch({ from: '/app/o/$organization/members' });
  const navigate = useNavigate({ from: '/o/$organization/members' });
  const [action, setAction] = useState<MemberAction>();
  const query = useAsk('GET /api/organizations/:organization/members', { params: { organization } });
  const members = query.data?.members;
  const onChange = (next: Partial<MembersSearch>, replace = true) =>
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
      {query.error && !members ? (
        <ErrorState problem={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <>
          <FilterBar active={search.search !== undefined} onClear={() => onChange({ search: undefined })}>
            <SearchBox
              label="Search by email"
              value={search.search ?? ''}
              live
              onSearch={(text) => onChange({ search: text === '' ? undefined : text })}
            />
          </FilterBar>
          <MembersTable
            members={members}
            shown={members && findMembers(members, search.search ?? '')}
            userId={user.id}
            role={role}
            onAct={setAction}
            empty={
              members?.length === 0 ? (
                <EmptyState icon="members" title="Nobody belongs to this organization yet" action={inviteButton}>
                  Invite an owner, who can then invite everybody else.
                </EmptyState>
              ) : (
                <EmptyState
                  icon="search"
                  title="Nobody fits"
                  action={<Button onClick={() => onChange({ search: undefined })}>Clear the search</Button>}
                />
              )
            }
          />
        </>
      )}
      <MemberOverlays
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
