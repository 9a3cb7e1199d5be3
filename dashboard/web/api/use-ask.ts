import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
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

type Cursor = string | number;
/** Endpoints whose answer says where the next, older page begins. */
export type PagedEndpoint = {
  [E in AskEndpoint]: Answer<E> extends { readonly next?: Cursor } ? E : never;
}[AskEndpoint];

export interface AskPagesOptions extends AskOptions {
  /** Never asked again by itself: whoever looks at it follows what is newer in another way. */
  readonly once?: boolean;
}

export function askPagesKey<E extends PagedEndpoint>(endpoint: E, input: AskInput<E>): readonly unknown[] {
  return [...askKey(endpoint, input), 'pages'];
}

/** All pages of a list as far as they were asked for. `cursor` is the name of the query value that takes `next`. */
export function useAskPages<E extends PagedEndpoint>(
  endpoint: E,
  input: AskInput<E>,
  cursor: 'before' | 'after',
  { refreshMs, enabled = true, keepPrevious = false, once = false }: AskPagesOptions = {},
): UseInfiniteQueryResult<InfiniteData<Answer<E>, Cursor | undefined>, ApiProblem> {
  return useInfiniteQuery<
    Answer<E>,
    ApiProblem,
    InfiniteData<Answer<E>, Cursor | undefined>,
    readonly unknown[],
    Cursor | undefined
  >({
    queryKey: askPagesKey(endpoint, input),
    queryFn: ({ signal, pageParam }) =>
      ask(endpoint, { ...input, query: { ...input.query, [cursor]: pageParam } } as AskInput<E>, signal),
    initialPageParam: undefined,
    getNextPageParam: (page) => (page as { readonly next?: Cursor }).next,
    enabled,
    ...(once ? { staleTime: Number.POSITIVE_INFINITY } : {}),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
  });
}
