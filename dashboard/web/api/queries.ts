import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  type UseMutationResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ResponseOf } from '#contract/api.ts';
import type { AskEndpoint, AskInput, Optional, SendEndpoint, SendInput, Values } from './api.ts';
import { ApiProblem, ask, send } from './api.ts';
import { askForPassword } from './form-prompts.ts';

interface AskOptions {
  /** Interval of refetching while the page is visible. */
  readonly refreshMs?: number;
  readonly enabled?: boolean;
  /** Keeps the previous response until the one for a new filter arrives, so that nothing jumps. */
  readonly keepPrevious?: boolean;
}

/** Cache key. `invalidateQueries({ queryKey: [endpoint] })` matches all of its inputs. */
export function askKey<E extends AskEndpoint>(endpoint: E, input: AskInput<E>): readonly unknown[] {
  return [endpoint, input.params ?? {}, input.query ?? {}];
}

/** An input whose parameter `organization` may be left out, because the page's is used. */
export type OnPage<Input> = Input extends { readonly params: infer P extends { readonly organization: string } }
  ? Omit<Input, 'params'> & WithoutOrganization<Omit<P, 'organization'>>
  : Input;
type WithoutOrganization<Others> = keyof Others extends never
  ? { readonly params?: { readonly organization: string } }
  : { readonly params: Others & { readonly organization?: string } };

/** The organization of the page. Absent: the page is about all of them, or about none. */
export function useOrganizationOfPage(): string | undefined {
  return useParams({ strict: false }).organization;
}

/** Adds the page's organization to the inputs of endpoints that need one. */
function useOnPage(endpoint: AskEndpoint | SendEndpoint): <Input>(given: OnPage<Input> | undefined) => Input {
  const organization = useOrganizationOfPage();
  return (given) => {
    const input: Values = given ?? {};
    const isNeeded = endpoint.includes(':organization') && organization !== undefined;
    return { ...input, ...(isNeeded && { params: { organization, ...input.params } }) } as never;
  };
}

export function useAsk<E extends AskEndpoint>(
  endpoint: E,
  ...rest: [...Optional<OnPage<AskInput<E>>>, options?: AskOptions]
): UseQueryResult<ResponseOf<E>, ApiProblem> {
  const [given, options = {}] = rest as readonly unknown[] as [given?: OnPage<AskInput<E>>, options?: AskOptions];
  const { refreshMs, enabled = true, keepPrevious = false } = options;
  const input = useOnPage(endpoint)<AskInput<E>>(given);
  return useQuery<ResponseOf<E>, ApiProblem, ResponseOf<E>>({
    queryKey: askKey(endpoint, input),
    queryFn: ({ signal }) => ask(endpoint, input, signal),
    enabled,
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs, staleTime: Math.min(refreshMs, 10_000) }),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

type Cursor = string | number;
/** Endpoints whose response names the start of the next, older page. */
type PagedEndpoint = {
  [E in AskEndpoint]: ResponseOf<E> extends { readonly next?: Cursor } ? E : never;
}[AskEndpoint];

interface AskPagesOptions extends AskOptions {
  /** Never refetches. The caller follows newer rows in another way. */
  readonly once?: boolean;
}

export function askPagesKey<E extends PagedEndpoint>(endpoint: E, input: AskInput<E>): readonly unknown[] {
  return [...askKey(endpoint, input), 'pages'];
}

/** Loads a list page by page. `cursor` is the query parameter that accepts `next`. */
export function useAskPages<E extends PagedEndpoint>(
  endpoint: E,
  given: OnPage<AskInput<E>>,
  cursor: 'before' | 'after',
  { refreshMs, enabled = true, keepPrevious = false, once = false }: AskPagesOptions = {},
): UseInfiniteQueryResult<InfiniteData<ResponseOf<E>, Cursor | undefined>, ApiProblem> {
  const input = useOnPage(endpoint)<AskInput<E>>(given);
  return useInfiniteQuery({
    queryKey: askPagesKey(endpoint, input),
    queryFn: ({ signal, pageParam }): Promise<ResponseOf<E>> =>
      ask(endpoint, { ...input, query: { ...input.query, [cursor]: pageParam } } as AskInput<E>, signal),
    initialPageParam: undefined as Cursor | undefined,
    getNextPageParam: (page) => (page as { readonly next?: Cursor }).next,
    enabled,
    ...(once ? { staleTime: 'static' } : {}),
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
    // A refetch would load all pages, so only a single page is refreshed.
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 && refreshMs) || false,
  });
}

interface SendOptions<E extends SendEndpoint> {
  /** Refetches nothing afterwards. Default: refetches everything on the screen. */
  readonly changesNothing?: boolean | undefined;
  /** If it returns a promise, the request counts as pending until that resolves. */
  readonly onDone?: (response: ResponseOf<E>) => unknown;
  /** For requests of a button without room for an error message: `useFailureToast()`. */
  readonly onFailed?: (problem: ApiProblem) => void;
}

/** `mutate(input)` sends. The result has `isPending`, `error` (an ApiProblem) and `reset()`. */
export function useSend<E extends SendEndpoint>(
  endpoint: E,
  { changesNothing = false, onDone, onFailed }: SendOptions<E> = {},
): UseMutationResult<ResponseOf<E>, ApiProblem, OnPage<SendInput<E>>> {
  const client = useQueryClient();
  const onPage = useOnPage(endpoint);
  return useMutation<ResponseOf<E>, ApiProblem, OnPage<SendInput<E>>>({
    mutationFn: async (given) => {
      const input = onPage<SendInput<E>>(given);
      const attempt = () => send(endpoint, ...([input] as Optional<SendInput<E>>));
      try {
        return await attempt();
      } catch (error) {
        // The request was refused before it had any effect. It is repeated once the password is
        // entered.
        const isAsked = error instanceof ApiProblem && error.problem === 'password_needed' && (await askForPassword());
        if (!isAsked) throw error;
        return attempt();
      }
    },
    ...(onFailed && { onError: onFailed }),
    onSuccess: async (response) => {
      await onDone?.(response);
      if (!changesNothing) await client.invalidateQueries();
    },
  });
}
