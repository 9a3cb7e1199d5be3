import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import type { SessionView } from '#contract/session.ts';
import { ask } from './api.ts';
import { sessionGoesOn } from './form-prompts.ts';
import { askKey } from './use-ask.ts';

const sessionQuery = queryOptions({
  queryKey: askKey('GET /api/session', {}),
  queryFn: ({ signal }) => ask('GET /api/session', {}, signal),
  staleTime: 60_000,
});

/** Loads the session of the signed-in user. Rejects with `not_signed_in`. */
export function loadSession(client: QueryClient): Promise<SessionView> {
  return client.ensureQueryData(sessionQuery);
}

/**
 * Starts a session after a sign-in. Clears the cache, so that the data of another user is never
 * shown.
 */
export function startSession(client: QueryClient, session: SessionView): void {
  client.clear();
  client.setQueryData(sessionQuery.queryKey, session);
}

/** Resumes after a sign-in over a form. The page stays, unless another user signed in. */
export function resumeSession(client: QueryClient, session: SessionView): void {
  if (client.getQueryData(sessionQuery.queryKey)?.user.id !== session.user.id) {
    window.location.assign('/');
    return;
  }
  client.setQueryData(sessionQuery.queryKey, session);
  void client.invalidateQueries();
  sessionGoesOn();
}

/** For components below the shell, which waits for the session. */
export function useSession(): SessionView {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('the session is used outside the shell');
  return data;
}
