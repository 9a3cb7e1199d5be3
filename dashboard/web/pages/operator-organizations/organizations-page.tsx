import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useAskPages } from '../../api/use-ask.ts';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useToast } from '../../components/toast.tsx';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import type { OrganizationAction } from '../../organizations/organization-dialogs.tsx';
import { OrganizationDialog } from '../../organizations/organization-dialogs.tsx';
import { NEW_ORGANIZATION } from '../../organizations/organization-drafts.ts';
import { PagedList } from '../../table/load-more.tsx';
import { CreateOrganizationDialog } from './create-organization-dialog.tsx';
import { OrganizationsTable } from './organizations-table.tsx';

const route = getRouteApi('/app/operator/organizations');
const REFRESH_MS = 30_000;

export function OrganizationsPage(): ReactNode {
  const { search, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const [draft, setDraft] = useState(NEW_ORGANIZATION);
  const [action, setAction] = useState<OrganizationAction>();
  const toast = useToast();
  const pages = useAskPages('GET /api/organizations', { query: { search } }, 'after', {
    refreshMs: REFRESH_MS,
    keepPrevious: true,
  });
  const rows = pages.data?.pages.flatMap(({ organizations }) => organizations);
  const go = (next: ReturnType<typeof route.useSearch>, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false });
  const open = (organization: string) => void navigate({ to: '/o/$organization/overview', params: { organization } });
  const create = (
    <Button tone="primary" icon="plus" onClick={() => go({ dialog: 'create' }, false)}>
      New organization
    </Button>
  );
  return (
    <>
      <PageHeader title="Organizations" description="Every customer of this gateway, newest first." actions={create} />
      <FilterBar active={search !== undefined} onClear={() => go({ search: undefined }, true)}>
        <SearchBox
          label="Search by name or id"
          value={search}
          live
          onSearch={(text) => go({ search: text?.trim() ? text : undefined }, true)}
        />
      </FilterBar>
      <PagedList pages={pages} count={rows?.length} nouns={['organization', 'organizations']}>
        <OrganizationsTable
          rows={rows}
          onOpen={({ id }) => open(id)}
          onAct={setAction}
          empty={<NoOrganizations searched={search !== undefined} create={create} />}
        />
      </PagedList>
      {dialog === 'create' && (
        <CreateOrganizationDialog
          draft={draft}
          onDraft={setDraft}
          onClose={() => go({ dialog: undefined }, true)}
          onCreated={({ id, name }) => {
            setDraft(NEW_ORGANIZATION);
            toast({ tone: 'good', text: `${name} was created. Invite its owner next.` });
            void navigate({ to: '/o/$organization/members', params: { organization: id } });
          }}
        />
      )}
      {action && <OrganizationDialog action={action} onClose={() => setAction(undefined)} />}
    </>
  );
}

function NoOrganizations({ searched, create }: { readonly searched: boolean; readonly create: ReactNode }): ReactNode {
  return searched ? (
    <EmptyState icon="search" title="No matching organization">
      Search for a part of its name, or for its whole id.
    </EmptyState>
  ) : (
    <EmptyState icon="organizations" title="No organizations yet" action={create}>
      An organization has keys, a balance and limits. Create one for each customer or team.
    </EmptyState>
  );
}
