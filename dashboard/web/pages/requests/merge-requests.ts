import type { RequestPage, RequestView } from '#contract/request-log.ts';

/** Following looks back this far: requests are logged at their end, but sorted by arrival. */
export const LOOK_BACK_MS = 5 * 60_000;

/** Longest look back, for long requests. */
const MAX_LOOK_BACK_MS = 2 * 3_600_000;

/**
 * Start of the next query. If the newest known request is older than the last look, longer requests
 * are found too. It is not used if it is old because few requests match, which would search a long
 * range again and again.
 */
export function followFromMs(lookedAtMs: number, newestMs: number | undefined, filterFromMs = 0): number {
  const since = newestMs === undefined ? 0 : Math.min(lookedAtMs, newestMs) - LOOK_BACK_MS;
  return Math.max(since, lookedAtMs - MAX_LOOK_BACK_MS, filterFromMs, 0);
}

/** Merges two lists without duplicates, newest first. */
export function mergeRequests(newer: readonly RequestView[], older: readonly RequestView[]): readonly RequestView[] {
  const byId = new Map([...older, ...newer].map((request) => [request.id, request]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** Requests of a newer response that are not in the list yet. */
export function unknownRequests(page: RequestPage, known: readonly RequestView[]): readonly RequestView[] {
  const ids = new Set(known.map(({ id }) => id));
  return page.requests.filter(({ id }) => !ids.has(id));
}

/** True if more arrived than fit on a page: some may be missing, so the list starts over. */
export function leavesGap(page: RequestPage, known: readonly RequestView[]): boolean {
  // A search that stopped early found few requests, so none is missing.
  if (page.next === undefined || page.searchedToMs !== undefined) return false;
  const newestKnown = known[0];
  const oldestSeen = page.requests.at(-1);
  return newestKnown === undefined || oldestSeen === undefined || oldestSeen.id > newestKnown.id;
}
