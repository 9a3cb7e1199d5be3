import type { RequestPage, RequestView } from '../../../contract/request-log.ts';

/**
 * A request is written down when it has ended, at the time at which it arrived: a long one below newer ones that are shown already. So
 * whoever follows the log looks again at what arrived so long before.
 */
export const LOOK_BACK_MS = 5 * 60_000;

/** So far may the reader's clock be ahead of the server's, which dates requests. */
const MAX_SKEW_MS = 2 * 3_600_000;

/**
 * From when on to ask for what came since the last look, which the reader's clock dates. The newest request known tells of the server's,
 * unless it is old because little fits the filter: then a long time would be searched again and again.
 */
export function followFromMs(lookedAtMs: number, newestMs: number | undefined, filterFromMs = 0): number {
  const since = newestMs === undefined ? 0 : Math.min(lookedAtMs, newestMs) - LOOK_BACK_MS;
  return Math.max(since, lookedAtMs - MAX_SKEW_MS, filterFromMs, 0);
}

/** Newest first, each once. */
export function mergeRequests(newer: readonly RequestView[], older: readonly RequestView[]): readonly RequestView[] {
  const byId = new Map([...older, ...newer].map((request) => [request.id, request]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** Those of a newer answer that are not known yet. */
export function unknownRequests(page: RequestPage, known: readonly RequestView[]): readonly RequestView[] {
  const ids = new Set(known.map(({ id }) => id));
  return page.requests.filter(({ id }) => !ids.has(id));
}

/**
 * More came since the last look than fit on a page, so that between its end and what is known others may be missing. Then the list has
 * to begin anew.
 */
export function leavesGap(page: RequestPage, known: readonly RequestView[]): boolean {
  // A search that was broken off has found little: nothing is missing above it.
  if (page.next === undefined || page.searchedToMs !== undefined) return false;
  const newestKnown = known[0];
  const oldestSeen = page.requests.at(-1);
  return newestKnown === undefined || oldestSeen === undefined || oldestSeen.id > newestKnown.id;
}
