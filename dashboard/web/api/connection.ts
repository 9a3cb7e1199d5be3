import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { type BackOffOptions, backOffMs } from '#core/retry/back-off.ts';
import { ApiProblem, ask } from './api.ts';

const ASK_EVERY_MS = 2_000;

let lost = false;
let asking: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function set(next: boolean): void {
  if (lost === next) return;
  lost = next;
  clearInterval(asking);
  // Most pages ask only once and would not notice that the server is back.
  if (lost) asking = setInterval(() => void checkConnection(), ASK_EVERY_MS);
  for (const listener of listeners) listener();
}

function reportLost(): void {
  set(true);
}

function reportReached(): void {
  set(false);
}

/** Sends a small request. Any response of the server counts, even a refusal. */
export async function checkConnection(): Promise<void> {
  const answered = await ask('GET /api/session', {}, AbortSignal.timeout(ASK_EVERY_MS)).then(
    () => true,
    (error: unknown) => error instanceof ApiProblem && !error.isConnection,
  );
  set(!answered);
}

export function onReturn(goOn: () => void): () => void {
  const listener = () => {
    if (!lost) goOn();
  };
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('offline', reportLost);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('offline', reportLost);
  };
}

/** True if the last request got no response from the server. */
export function useConnectionLost(): boolean {
  return useSyncExternalStore(subscribe, () => lost);
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
    if (error.isConnection) reportLost();
    else reportReached();
    if (error.problem === 'not_signed_in') onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError, onSuccess: reportReached }),
    mutationCache: new MutationCache({ onError, onSuccess: reportReached }),
    defaultOptions: {
      queries: {
        staleTime: 10_000,
        gcTime: 5 * 60_000,
        refetchOnWindowFocus: true,
        // A refused request would be refused again.
        retry: (failures, error) => error instanceof ApiProblem && error.isConnection && failures < RETRIES,
        retryDelay: (failuresBefore) => backOffMs(failuresBefore + 1, BACK_OFF),
        networkMode: 'always',
      },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}
