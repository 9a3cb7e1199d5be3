import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useSession } from '../../api/session.ts';
import { useAskPages } from '../../api/use-ask.ts';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { PagedList } from '../../table/load-more.tsx';
import type { UserAction } from './user-dialogs.tsx';
import { UserDialogs } from './user-dialogs.tsx';
import { UsersTable } from './users-table.tsx';

const route = getRouteApi('/app/operator/users');

export function UsersPage(): ReactNode {
  const { user } = useSession();
  const { search, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const [action, setAction] = useState<UserAction>();
  const pages = useAskPages('GET /api/users', { query: { search } }, 'after', { keepPrevious: true });
  const rows = pages.data?.pages.flatMap(({ users }) => users);
  const go = (next: ReturnType<typeof route.useSearch>, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false });
  return (
    <>
      <PageHeader
        title="Users"
        description="Everybody who may sign in to this dashboard."
        actions={
          <Button tone="primary" icon="plus" onClick={() => go({ dialog: 'invite' }, false)}>
            Invite
          </Button>
        }
      />
      <FilterBar active={search !== undefined} onClear={() => go({ search: undefined }, true)}>
        <SearchBox
          label="Search by email"
          value={search}
          live
          onSearch={(text) => go({ search: text?.trim() ? text : undefined }, true)}
        />
      </FilterBar>
      <PagedList pages={pages} count={rows?.length} nouns={['user', 'users']}>
        <UsersTable
          rows={rows}
          selfId={user.id}
          onAct={setAction}
          empty={
            <EmptyState icon="search" title="No match">
              Search for a part of the email address.
            </EmptyState>
          }
        />
      </PagedList>
      <UserDialogs
        inviting={dialog === 'invite'}
        onInvitingEnds={() => go({ dialog: undefined }, true)}
        action={action}
        onAct={setAction}
      />
    </>
  );
}
