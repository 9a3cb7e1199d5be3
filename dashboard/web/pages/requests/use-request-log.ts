import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { RequestFilter, RequestPage, RequestView } from '#contract/request-log.ts';
import { ask } from '../../api/api.ts';
import { askPagesKey, useAskPages } from '../../api/queries.ts';
import { serverMs } from '../../api/server-clock.ts';
import { followFromMs, leavesGap, mergeRequests, unknownRequests } from './merge-requests.ts';

const ENDPOINT = 'GET /api/organizations/:organization/requests';
const FOLLOW_MS = 2_000;
/** Bound of rows on a page that stays open. Beyond it the list starts over. */
const MAX_SHOWN = 300;
const NONE: readonly RequestView[] = [];

/** Requests that arrived after the pages were loaded. */
interface Newer {
  /** The filter to which they belong. */
  readonly of: string;
  readonly shown: readonly RequestView[];
  readonly waiting: readonly RequestView[];
  /** True if requests are missing, so that the list has to start over. */
  readonly gap: boolean;
}

export interface RequestLogOptions {
  readonly following: boolean;
  /** True if the user reads further down, so that new requests wait. */
  readonly holding: boolean;
}

/** The loaded pages, preceded by new requests. */
export function useRequestLog(organization: string, filter: RequestFilter, options: RequestLogOptions) {
  const client = useQueryClient();
  const input = useMemo(() => ({ params: { organization }, query: filter }), [organization, filter]);
  const pages = useAskPages(ENDPOINT, input, 'before', { once: true, keepPrevious: true });
  const of = JSON.stringify(input);
  const empty: Newer = { of, shown: NONE, waiting: NONE, gap: false };
  const [stored, setNewer] = useState(empty);
  const newer = stored.of === of ? stored : empty;
  const older = useMemo(() => pages.data?.pages.flatMap(({ requests }) => requests), [pages.data]);
  const rows = useMemo(() => older && mergeRequests(newer.shown, older), [older, newer.shown]);
  const isThere = pages.isSuccess && !pages.isPlaceholderData;

  const startOver = async () => {
    // Keeps only the first page, because a refetch would load all pages again.
    client.setQueryData<typeof pages.data>(askPagesKey(ENDPOINT, input), (data) =>
      data ? { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) } : data,
    );
    const { isSuccess } = await pages.refetch();
    if (isSuccess) setNewer(empty);
  };
  const take = (page: RequestPage) => {
    if (rows === undefined) return;
    const known = mergeRequests(newer.waiting, rows);
    const unknown = unknownRequests(page, known);
    if (unknown.length === 0) return;
    const gap = newer.gap || leavesGap(page, known) || newer.shown.length + newer.waiting.length > MAX_SHOWN;
    if (options.holding) setNewer({ ...newer, waiting: mergeRequests(unknown, newer.waiting), gap });
    else if (gap) void startOver();
    else setNewer({ ...empty, shown: mergeRequests([...unknown, ...newer.waiting], newer.shown) });
  };
  const show = () => {
    if (newer.gap) void startOver();
    else setNewer({ ...empty, shown: mergeRequests(newer.waiting, newer.shown) });
  };
  const { holding } = options;
  const hasWaiting = newer.waiting.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: when the reader is back at the top, and not whenever something comes
  useEffect(() => {
    if (!holding && hasWaiting) show();
  }, [holding]);
  useFollow(input, {
    enabled: isThere && options.following,
    sinceMs: serverMs(pages.dataUpdatedAt),
    newestMs: (newer.waiting[0] ?? rows?.[0])?.atMs,
    take,
  });
  return {
    pages,
    rows,
    /** Number of requests that wait until the reader is at the top. */
    waiting: newer.waiting.length,
    /** True if more requests are waiting than that. */
    waitingMore: newer.gap,
    show,
    isNew: (request: RequestView) => newer.shown.includes(request),
  };
}

interface FollowOptions {
  readonly enabled: boolean;
  readonly sinceMs: number;
  readonly newestMs: number | undefined;
  readonly take: (page: RequestPage) => void;
}

/** While the page is visible, fetches new requests, looking back some minutes. */
function useFollow(
  { params, query }: { readonly params: { readonly organization: string }; readonly query: RequestFilter },
  { enabled, sinceMs, newestMs, take }: FollowOptions,
): void {
  const last = useRef({ query, atMs: sinceMs });
  if (last.current.query !== query) last.current = { query, atMs: sinceMs };
  const newest = useRef(newestMs);
  const { data } = useQuery({
    queryKey: [ENDPOINT, params, query, 'newer'],
    queryFn: async ({ signal }) => {
      const nowMs = serverMs();
      const fromMs = followFromMs(Math.max(last.current.atMs, sinceMs), newest.current, query.fromMs);
      const page = await ask(ENDPOINT, { params, query: { ...query, fromMs } }, signal);
      last.current = { query, atMs: nowMs };
      return page;
    },
    enabled,
    refetchInterval: FOLLOW_MS,
    gcTime: 0,
  });
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
    newest.current = newestMs;
  });
  useEffect(() => {
    if (enabled && data) latest.current(data);
  }, [enabled, data]);
}

/** True if the page is scrolled down by more than `byPx`. */
export function useScrolledDown(byPx: number): boolean {
  const [down, setDown] = useState(false);
  useEffect(() => {
    const look = () => setDown(window.scrollY > byPx);
    look();
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, [byPx]);
  return down;
}
