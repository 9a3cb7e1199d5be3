import { Outlet, useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
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
  const { isFound } = useChoice(organization);
  // An address may name one that does not exist.
  useEffect(() => {
    if (isFound) keep(NAME, organization);
  }, [isFound, organization]);
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
  return id === undefined || choice.isFound === false ? undefined : choice;
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

/** `isFound` is absent while it is not known. */
function useChoice(id: string): OrganizationChoice & { readonly isFound?: boolean } {
  const { user, organizations } = useSession();
  const own = organizations.find((organization) => organization.id === id);
  const other = useAsk(
    'GET /api/organizations/:organization',
    { params: { organization: id } },
    { enabled: own === undefined && id !== '' },
  );
  const role = user.isOperator ? 'operator' : (own?.role ?? 'member');
  if (own) return { ...own, role, isFound: true };
  const { data, error } = other;
  return {
    ...{ id, role, name: data?.name ?? id, suspended: data?.suspendedAtMs !== undefined },
    ...(data ? { isFound: true } : error?.problem === 'not_found' && { isFound: false }),
  };
}

/** Of the organization for `/`. If the browser has no storage, `/` opens the first one. */
const NAME = 'organization';
