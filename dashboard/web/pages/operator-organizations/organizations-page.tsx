import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { OrganizationRow } from '#contract/operator.ts';
import { useAskPages } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { useToast } from '../../components/toast.tsx';
import { Count, Instant, Money, StatusPill } from '../../components/values.tsx';
import { SearchFilter } from '../../forms/filter-bar.tsx';
import { CreateOrganizationDialog, organizationActions } from '../../organizations/organization-dialogs.tsx';
import { NEW_ORGANIZATION } from '../../organizations/organization-drafts.ts';
import { useOverlay } from '../../overlays/dialog.tsx';
import { useUrl } from '../../search/use-url.ts';
import { ListPage } from '../../table/list-page.tsx';
import { actionsColumn, type Column, figureColumn } from '../../table/table.tsx';
import { organizationsSearch } from '../searches.ts';

const REFRESH_MS = 30_000;

export function OrganizationsPage(): ReactNode {
  const url = useUrl(organizationsSearch);
  const { search, change } = url;
  const navigate = useNavigate();
  const [draft, setDraft] = useState(NEW_ORGANIZATION);
  const [overlay, open] = useOverlay();
  const toast = useToast();
  const pages = useAskPages('GET /api/organizations', { query: { search: search.search } }, 'after', {
    refreshMs: REFRESH_MS,
    keepPrevious: true,
  });
  const create = (
    <Button tone="primary" icon="plus" onClick={() => change({ dialog: 'create' }, 'step')}>
      New organization
    </Button>
  );
  return (
    <ListPage
      title="Organizations"
      description="Every customer of this gateway, newest first."
      actions={create}
      url={url}
      filters={<SearchFilter label="Search by name or id" url={url} />}
      noMatch="Search for a part of its name, or for its whole id."
      query={pages}
      nouns={['organization', 'organizations']}
      caption="Organizations"
      columns={[
        ...COLUMNS,
        actionsColumn<OrganizationRow>({
          nameOf: ({ name }) => name,
          actions: (organization) => organizationActions(organization, open),
        }),
      ]}
      rows={pages.data?.pages.flatMap(({ organizations }) => organizations)}
      onOpen={({ id }) => void navigate({ to: '/o/$organization/overview', params: { organization: id } })}
      empty={
        <EmptyState icon="organizations" title="No organizations yet" action={create}>
          An organization has keys, a balance and limits. Create one for each customer or team.
        </EmptyState>
      }
    >
      {search.dialog === 'create' && (
        <CreateOrganizationDialog
          draft={draft}
          onDraft={setDraft}
          onClose={() => change({ dialog: undefined })}
          onCreated={({ id, name }) => {
            setDraft(NEW_ORGANIZATION);
            toast({ tone: 'good', text: `${name} was created. Invite its owner next.` });
            void navigate({ to: '/o/$organization/members', params: { organization: id } });
          }}
        />
      )}
      {overlay}
    </ListPage>
  );
}

const ACTIVE = <StatusPill tone="good">Active</StatusPill>;

const COLUMNS: readonly Column<OrganizationRow>[] = [
  {
    header: 'Organization',
    cell: ({ id, name }) => (
      <div className="stack">
        <strong>{name}</strong>
        <code className="muted small">{id}</code>
      </div>
    ),
  },
  {
    header: 'State',
    cell: ({ suspendedAtMs }) => (suspendedAtMs === undefined ? ACTIVE : <StatusPill tone="bad">Suspended</StatusPill>),
  },
  figureColumn('Balance', ({ balanceNanoUsd }) => (
    <span className={balanceNanoUsd.startsWith('-') ? 'bad' : undefined}>
      <Money nanoUsd={balanceNanoUsd} />
    </span>
  )),
  figureColumn('Spent today', ({ spentTodayNanoUsd }) => <Money nanoUsd={spentTodayNanoUsd} />),
  figureColumn('Active keys', ({ usableKeys }) => <Count value={usableKeys} />),
  {
    header: 'Created',
    hideBelow: 'wide',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];
