import type { RequestFilter } from '../../../contract/request-log.ts';
import type { Range, RequestsSearch } from './requests-search.ts';

const MINUTE_MS = 60_000;
const RANGE_MS: Readonly<Record<Range, number>> = {
  '15m': 15 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '24h': 24 * 60 * MINUTE_MS,
  '7d': 7 * 24 * 60 * MINUTE_MS,
  '30d': 30 * 24 * 60 * MINUTE_MS,
};

/** What the URL asks for, as the server takes it. */
export function filterOf(search: RequestsSearch, nowMs: number): RequestFilter {
  const { range, fromMs, toMs, key, model, outcome, status, code, search: text } = search;
  if (text !== undefined) return { search: text };
  const custom = fromMs !== undefined || toMs !== undefined;
  const earliest = custom ? fromMs : range && nowMs - RANGE_MS[range];
  return {
    ...(earliest !== undefined && { fromMs: earliest }),
    ...(toMs !== undefined && { toMs }),
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(outcome !== undefined && { outcome }),
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
  };
}

/** Whether anything but the drawer stands in the URL. */
export function isFiltered({ open: _, ...search }: RequestsSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}

/** Requests come in that fit: neither an end of time nor a single id was asked for. */
export function canFollow({ toMs, search }: RequestsSearch): boolean {
  return toMs === undefined && search === undefined;
}
