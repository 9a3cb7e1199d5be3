import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';
import type { SessionView, SignInMethodsView } from '#contract/session.ts';
import { ask } from './api.ts';
import { sessionGoesOn } from './form-prompts.ts';
import { askKey } from './queries.ts';

const sessionQuery = queryOptions({
  queryKey: askKey('GET /api/session', {}),
  queryFn: async ({ client, signal }) => {
    const session = await ask('GET /api/session', {}, signal);
    return isOfAnother(client, session) ? startAnew() : session;
  },
  staleTime: 60_000,
  // Another user may have signed in in another tab.
  refetchOnWindowFocus: 'always',
});

function isOfAnother(client: QueryClient, { user }: SessionView): boolean {
  const known = client.getQueryData<SessionView>(askKey('GET /api/session', {}));
  return known !== undefined && known.user.id !== user.id;
}

let isStartingAnew = false;

/** False while the page makes way for another user, who is not asked about the former's input. */
export function mayAskBeforeLeaving(): boolean {
  return !isStartingAnew;
}

/**
 * Loads the page again, because another user signed in: what the former one saw and typed ends with
 * it. Replaces it, because browsers keep pages for their Back button. Never resolves.
 */
function startAnew(): Promise<never> {
  isStartingAnew = true;
  window.location.replace('/');
  return new Promise(() => {});
}

/** Loads the session of the signed-in user. Rejects with `not_signed_in`. */
export function loadSession(client: QueryClient): Promise<SessionView> {
  return client.ensureQueryData(sessionQuery);
}

/** Starts a session. Clears the cache, so that another user's data is never shown. */
export function startSession(client: QueryClient, session: SessionView): void {
  client.clear();
  client.setQueryData(sessionQuery.queryKey, session);
  otherTabs.postMessage('');
}

const otherTabs = new BroadcastChannel('gateway-session');

/** Fetches a page's session when another tab signs in or out. A visible tab gets no other event. */
export function followOtherTabs(client: QueryClient): void {
  otherTabs.addEventListener('message', () => void client.invalidateQueries(sessionQuery));
}

/**
 * Leaves for the sign-in page, or for an issuer's, without asking about unsaved changes. Navigates
 * first, because the current page still uses the cache.
 */
export function useLeave(): (url?: string) => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  return (url) => {
    otherTabs.postMessage('');
    if (url === undefined) void navigate({ to: '/sign-in', ignoreBlocker: true }).then(() => client.clear());
    else window.location.assign(url);
  };
}

/** Continues after a sign-in over a form. The page stays, unless another user signed in. */
export function resumeSession(client: QueryClient, session: SessionView): void {
  if (isOfAnother(client, session)) {
    void startAnew();
    return;
  }
  client.setQueryData(sessionQuery.queryKey, session);
  otherTabs.postMessage('');
  void client.invalidateQueries();
  sessionGoesOn();
}

/** For components below the shell, which waits for the session. */
export function useSession(): SessionView {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('the session is used outside the shell');
  return data;
}

/** Kept outside of the query cache, which is cleared on the way to the sign-in page. */
let known: SignInMethodsView = { password: false };

/** Ways to sign in: none until they are known, passwords if the server does not respond. */
export function useSignInMethods(): SignInMethodsView {
  const [methods, setMethods] = useState(known);
  useEffect(() => {
    void ask('GET /api/sign-in', {}).then(
      (found) => {
        known = found;
        setMethods(found);
      },
      () => setMethods((former) => (former.issuer === undefined ? { password: true } : former)),
    );
  }, []);
  return methods;
}

const LUGGAGE = 'gateway-luggage';

/** Kept while the browser visits the issuer: the address to return to and a link's token. */
export interface Luggage {
  readonly back?: string | undefined;
  readonly linkToken?: string;
}

export function packLuggage(luggage: Luggage): void {
  sessionStorage.setItem(LUGGAGE, JSON.stringify(luggage));
}

export function takeLuggage(): Luggage {
  const packed = sessionStorage.getItem(LUGGAGE);
  sessionStorage.removeItem(LUGGAGE);
  return packed === null ? {} : JSON.parse(packed);
}

/**
 * Calls once when the user has signed in in another tab. It looks when it begins, at a message of a
 * tab, and when the page is shown again. It looks when it begins because a request of the former
 * session may have been refused after the message.
 */
export function useSignedInElsewhere(onSession: (session: SessionView) => void): void {
  const found = useEffectEvent(onSession);
  useEffect(() => {
    const looking = new AbortController();
    const { signal } = looking;
    const look = async () => {
      const session = await ask('GET /api/session', {}, signal).catch(() => undefined);
      if (session === undefined || signal.aborted) return;
      looking.abort();
      found(session);
    };
    const onReturn = () => document.visibilityState === 'visible' && void look();
    document.addEventListener('visibilitychange', onReturn, { signal });
    otherTabs.addEventListener('message', () => void look(), { signal });
    void look();
    return () => looking.abort();
  }, []);
}
