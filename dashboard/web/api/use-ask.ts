import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { Answer } from '../../contract/api.ts';
import { ask } from './api.ts';
import type { AskEndpoint, AskInput } from './endpoint-url.ts';
import type { ApiProblem } from './problem.ts';

export interface AskOptions {
  /** Asks again so often while the page can be seen. */
  readonly refreshMs?: number;
  readonly enabled?: boolean;
  /** What was asked before stays until the answer for another filter is there, so that nothing jumps. */
  readonly keepPrevious?: boolean;
}

/** The key under which an answer is kept: `invalidateQueries({ queryKey: [endpoint] })` reaches all of an endpoint. */
export function askKey<E extends AskEndpoint>(endpoint: E, input: AskInput<E>): readonly unknown[] {
  return [endpoint, input.params ?? {}, input.query ?? {}];
}

export function useAsk<E extends AskEndpoint>(
  endpoint: E,
  input: AskInput<E>,
  { refreshMs, enabled = true, keepPrevious = false }: AskOptions = {},
): UseQueryResult<Answer<E>, ApiProblem> {
  return useQuery<Answer<E>, ApiProblem, Answer<E>>({
    queryKey: askKey(endpoint, input),
    queryFn: ({ signal }) => ask(endpoint, input, signal),
    enabled,
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs, staleTime: Math.min(refreshMs, 10_000) }),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}
