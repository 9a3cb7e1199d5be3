import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { SessionView } from '#contract/session.ts';
import { send } from '../../api/api.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { startSession } from '../../api/session.ts';
import { takeLuggage } from '../../api/sign-in-methods.ts';
import { Banner } from '../../components/banner.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { FrontDoor } from '../../shell/front-door.tsx';
import { backAddress } from './back-address.ts';

/** Page to which the issuer sends the browser back. */
export function CallbackPage(): ReactNode {
  const client = useQueryClient();
  const router = useRouter();
  const { data, error } = useQuery<SessionView, ApiProblem>({
    queryKey: ['response of the issuer'],
    queryFn: () => send('POST /api/oidc/session', { body: { query: takeResponse() } }),
    // A response signs in once.
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  useEffect(() => {
    if (data === undefined) return;
    const { back, linkToken } = takeLuggage();
    startSession(client, data);
    router.history.replace(linkToken === undefined ? backAddress(back) : `/link#${encodeURIComponent(linkToken)}`);
  }, [data, client, router]);
  if (error === null) {
    return (
      <FrontDoor title="Signing in">
        <Skeleton height="120px" />
      </FrontDoor>
    );
  }
  return (
    <FrontDoor title="Not signed in">
      <Banner tone="bad">{error.message}</Banner>
      <LinkButton to="/sign-in">Back to sign-in</LinkButton>
    </FrontDoor>
  );
}

let response: string | undefined;

/** The query of the address. It is removed, so that neither history nor screen shows the code. */
function takeResponse(): string {
  if (location.search !== '') response = location.search.slice(1);
  history.replaceState(history.state, '', location.pathname);
  return response ?? '';
}
