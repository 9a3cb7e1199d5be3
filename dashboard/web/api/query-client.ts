import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { type BackOffOptions, backOffMs } from '#core/retry/back-off.ts';
import { reportLost, reportReached } from './connection.ts';
import { ApiProblem } from './problem.ts';

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
