import { Outlet, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OrganizationChoice, SessionView } from '#contract/session.ts';
import { useAsk, useOrganizationOfPage } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { keep, kept } from '../components/kept.ts';
import { Banner } from '../components/panels.tsx';

/** The organization of a page below `/o/$organization`, with the user's role. */
export function useOrganization(): OrganizationChoice {
  const { organization } = useParams({ from: '/app/o/$organization' });
  return useChoice(organization);
}

/** Pages below `/o/$organization`. Another organization remounts them: no figure or form stays. */
export function OrganizationPages(): ReactNode {
  const { organization } = useParams({ from: '/app/o/$organization' });
  return <Outlet key={organization} />;
}

/** Notice on pages that send requests or manage their keys. */
export function SuspendedBanner(): ReactNode {
  if (!useOrganization().suspended) return null;
  return (
    <Banner tone="bad" title="This organization is suspended">
      Every request with one of its keys is refused with 403 org_suspended.
    </Banner>
  );
}

/** The organization for the shell: the page's, or the last one. */
export function useShellOrganization(): OrganizationChoice | undefined {
  const organization = useOrganizationOfPage();
  const session = useSession();
  const id = organization ?? startOrganization(session);
  const choice = useChoice(id ?? '');
  return id === undefined ? undefined : choice;
}

/** The name for tab titles, because users may have tabs of several organizations. */
export function useTitlePlace(): string | undefined {
  const organization = useOrganizationOfPage();
  const { name } = useChoice(organization ?? '');
  return organization === undefined ? undefined : name;
}

/** Target of `/`. Operators may open organizations without being members. */
export function startOrganization({ user, organizations }: SessionView): string | undefined {
  const last = kept(NAME);
  const mayOpen = last !== undefined && (user.isOperator || organizations.some(({ id }) => id === last));
  return mayOpen ? last : organizations[0]?.id;
}

function useChoice(id: string): OrganizationChoice {
  const { user, organizations } = useSession();
  const own = organizations.find((organization) => organization.id === id);
  const other = useAsk(
    'GET /api/organizations/:organization',
    { params: { organization: id } },
    { enabled: own === undefined && id !== '' },
  );
  const role = user.isOperator ? 'operator' : (own?.role ?? 'member');
  if (own) return { ...own, role };
  return { id, role, name: other.data?.name ?? id, suspended: other.data?.suspendedAtMs !== undefined };
}

const NAME = 'organization';

/** Remembers the organization for `/`. If the browser has no storage, `/` opens the first one. */
export function rememberOrganization(id: string): void {
  keep(NAME, id);
}
