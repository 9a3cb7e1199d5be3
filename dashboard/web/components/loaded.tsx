import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiProblem } from '../api/problem.ts';
import { ErrorState } from './error-state.tsx';
import { Loading } from './skeleton.tsx';

export interface LoadedProps<Data> {
  readonly query: Pick<UseQueryResult<Data, ApiProblem>, 'data' | 'error' | 'refetch'>;
  /** In the size of what will stand there. */
  readonly skeleton: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/**
 * The three states of everything that is asked: coming, failed, there. An answer that is there stays while a newer one cannot be had:
 * the shell's banner says that the connection is lost.
 */
export function Loaded<Data>({ query, skeleton, children }: LoadedProps<Data>): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorState problem={query.error} onRetry={() => void query.refetch()} />;
  return <Loading>{skeleton}</Loading>;
}
