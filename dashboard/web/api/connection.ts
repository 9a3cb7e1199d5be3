import { MutationCache, onlineManager, QueryCache, QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { type BackOffOptions, backOffMs } from '#core/retry/back-off.ts';
import { ApiProblem, ask } from './api.ts';

const ASK_EVERY_MS = 2_000;

let asking: ReturnType<typeof setInterval> | undefined;

// The page counts as online while the server responds. The browser's `online` event does not prove
// that.
onlineManager.setEventListener((setOnline) => {
  const onOffline = () => setOnline(false);
  window.addEventListener('offline', onOffline);
  return () => window.removeEventListener('offline', onOffline);
});
// Most pages fetch only once, and would not notice that the server is back.
onlineManager.subscribe((isOnline) => {
  clearInterval(asking);
  if (!isOnline) asking = setInterval(() => void checkConnection(), ASK_EVERY_MS);
});

/** Sends a small request. Any response of the server counts, even a refusal. */
export async function checkConnection(): Promise<void> {
  const answered = await ask('GET /api/session', {}, AbortSignal.timeout(ASK_EVERY_MS)).then(
    () => true,
    (error: unknown) => error instanceof ApiProblem && !error.isConnection,
  );
  onlineManager.setOnline(answered);
}

export function onReturn(goOn: () => void): () => void {
  return onlineManager.subscribe((isOnline) => isOnline && goOn());
}

/** True if the last request got no response from the server. */
export function useConnectionLost(): boolean {
  return useSyncExternalStore(onlineManager.subscribe, () => !onlineManager.isOnline());
}

declare module '@tanstack/react-query' {
  interface Register {
    defaultError: ApiProblem;
  }
}

const RETRIES = 2;
const BACK_OFF: BackOffOptions = { firstMs: 500, longestMs: 1_000 };

/** Creates the page's client. Calls `onSignedOut` when the server no longer knows the session. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (!(error instanceof ApiProblem)) return;
    onlineManager.setOnline(!error.isConnection);
    if (error.problem === 'not_signed_in') onSignedOut();
  };
  const onSuccess = () => onlineManager.setOnline(true);
  return new QueryClient({
    queryCache: new QueryCache({ onError, onSuccess }),
    mutationCache: new MutationCache({ onError, onSuccess }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: true,
        // A request that was refused would be refused again.
        retry: (failures, error) => error instanceof ApiProblem && error.isConnection && failures < RETRIES,
        retryDelay: (failuresBefore) => backOffMs(failuresBefore + 1, BACK_OFF),
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}
