import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import type { SessionView } from '../../contract/session.ts';
import { ask } from './api.ts';
import { sessionGoesOn } from './form-prompts.ts';
import { askKey } from './use-ask.ts';

const sessionQuery = queryOptions({
  queryKey: askKey('GET /api/session', {}),
  queryFn: ({ signal }) => ask('GET /api/session', {}, signal),
  staleTime: 60_000,
});

/** Who is signed in. Rejects with `not_signed_in`. */
export function loadSession(client: QueryClient): Promise<SessionView> {
  return client.ensureQueryData(sessionQuery);
}

/** After signing in: what another user saw before must not be shown for a moment. */
export function startSession(client: QueryClient, session: SessionView): void {
  client.clear();
  client.setQueryData(sessionQuery.queryKey, session);
}

/** After signing in again over a form: what is on the screen stays there, unless it is somebody else's. */
export function resumeSession(client: QueryClient, session: SessionView): void {
  if (client.getQueryData(sessionQuery.queryKey)?.user.id !== session.user.id) {
    window.location.assign('/');
    return;
  }
  client.setQueryData(sessionQuery.queryKey, session);
  void client.invalidateQueries();
  sessionGoesOn();
}

/** Only below the shell, which is not shown before the session is there. */
export function useSession(): SessionView {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('the session is used outside the shell');
  return data;
}
