import { type ExploreState, filterOf, spanOf } from '#contract/explore-search.ts';
import type { RequestFilter } from '#contract/request-log.ts';

/** The filter of the list. A range up to now has no end, so that new requests match. */
export function listFilter(state: ExploreState, nowMs: number): RequestFilter {
  if (state.search !== undefined) return { search: state.search };
  const { fromMs, toMs } = spanOf(state, nowMs);
  return { fromMs, ...(canFollow(state) ? {} : { toMs }), ...filterOf(state) };
}

/** True if new requests can match: the state has neither an end nor a single id. */
export function canFollow({ toMs, range, search }: ExploreState): boolean {
  return toMs === undefined && search === undefined && range !== 'yesterday' && range !== 'last-month';
}

/** Two states with the same text show the same list. */
export function filterTextOf({ open: _, by: __, show: ___, sort, order, compare, ...rest }: ExploreState): string {
  return JSON.stringify(rest);
}
