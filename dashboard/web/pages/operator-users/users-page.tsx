import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { UserRow } from '#contract/operator.ts';
import { useAskPages } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { Badge, Instant, LastTime } from '../../components/values.tsx';
import { SearchFilter } from '../../forms/filter-bar.tsx';
import { type OpenOverlay, useOverlay } from '../../overlays/dialog.tsx';
import { Person, PersonState } from '../../people/people.tsx';
import { useUrl } from '../../search/use-url.ts';
import { ListPage } from '../../table/list-page.tsx';
import { actionsColumn, type Column } from '../../table/table.tsx';
import { usersSearch } from '../searches.ts';
import { DisablementDialog, InviteUserDialog, PasswordLinkDialog } from './user-dialogs.tsx';

export function UsersPage(): ReactNode {
  const { user: self } = useSession();
  const url = useUrl(usersSearch);
  const { search, change } = url;
  const [overlay, open] = useOverlay();
  const query = { search: search.search };
  const pages = useAskPages('GET /api/users', { query }, 'after', { keepPrevious: true });
  return (
    <ListPage
      title="Users"
      help="operating.html#single-sign-on"
      description="Everyone who can sign in to this dashboard."
      actions={
        <Button tone="primary" icon="plus" onClick={() => change({ dialog: 'invite' }, 'step')}>
          Invite
        </Button>
      }
      url={url}
      filters={<SearchFilter label="Search by email" url={url} />}
      noMatch="Search for a part of the email address."
      query={pages}
      nouns={['user', 'users']}
      caption="Users"
      columns={[personColumn(self.id), ...COLUMNS, actionsOf(self.id, open)]}
      rows={pages.data?.pages.flatMap(({ users }) => users)}
      empty={<EmptyState icon="members" title="No users yet" />}
    >
      {search.dialog === 'invite' && <InviteUserDialog open={open} onClose={() => change({ dialog: undefined })} />}
      {overlay}
    </ListPage>
  );
}

function personColumn(selfId: string): Column<UserRow> {
  return {
    header: 'User',
    cell: ({ id, email, isOperator }) => (
      <Person email={email} isSelf={id === selfId}>
        {isOperator && <Badge tone="accent">Operator</Badge>}
      </Person>
    ),
  };
}

const COLUMNS: readonly Column<UserRow>[] = [
  {
    header: 'State',
    cell: ({ invited, disabledAtMs }) => <PersonState invited={invited} disabled={disabledAtMs !== undefined} />,
  },
  {
    header: 'Organizations',
    cell: ({ memberships }) =>
      memberships.length === 0 ? (
        <span className="muted">None</span>
      ) : (
        <ul className="stack">
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
  { header: 'Last signed in', cell: ({ lastSignedInAtMs }) => <LastTime atMs={lastSignedInAtMs} /> },
  {
    header: 'Created',
    hideBelow: 'wide',
    cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} show="date" />,
  },
];

/** No actions on oneself: nobody can lock themselves out, and the account page has the password. */
function actionsOf(selfId: string, open: OpenOverlay): Column<UserRow> {
  return actionsColumn({
    nameOf: ({ email }) => email,
    actions(user) {
      const disablement = () => open((onClose) => <DisablementDialog of={user} onClose={onClose} />);
      if (user.id === selfId) return [];
      if (user.disabledAtMs !== undefined) return [{ label: 'Enable', icon: 'play', onSelect: disablement }];
      return [
        {
          label: user.invited ? 'New invitation link' : 'Link to reset the password',
          icon: 'lock',
          onSelect: () => open((onClose) => <PasswordLinkDialog of={user} open={open} onClose={onClose} />),
        },
        { label: 'Disable', icon: 'pause', tone: 'bad', onSelect: disablement },
      ];
    },
  });
}
