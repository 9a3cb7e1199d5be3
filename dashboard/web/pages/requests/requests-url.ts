import type { RequestFilter } from '#contract/request-log.ts';
import { present } from '#core/present.ts';
import { idOf, isFiltered, oneOf, text, type UrlState, urlReader, wholeNumber } from '../../search/url-values.ts';

const RANGES = ['15m', '1h', '24h', '7d', '30d'] as const;
/** Times up to now. */
export type Range = (typeof RANGES)[number];

/**
 * `fromMs` and `toMs` override `range`; one of them may be open. `search` is a request or
 * generation id, which overrides every other filter. `open` is the request in the drawer.
 */
export const readRequestsUrl = urlReader({
  range: oneOf(RANGES),
  fromMs: wholeNumber,
  toMs: wholeNumber,
  key: idOf('key'),
  model: text,
  outcome: oneOf(['succeeded', 'failed']),
  status: httpStatus,
  code: text,
  search: text,
  open: idOf('log'),
});

export type RequestsUrlState = UrlState<typeof readRequestsUrl>;

function httpStatus(value: unknown): number | undefined {
  const status = wholeNumber(value);
  return status !== undefined && status >= 100 && status <= 599 ? status : undefined;
}

const MINUTE_MS = 60_000;
const RANGE_MS: Readonly<Record<Range, number>> = {
  '15m': 15 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '24h': 24 * 60 * MINUTE_MS,
  '7d': 7 * 24 * 60 * MINUTE_MS,
  '30d': 30 * 24 * 60 * MINUTE_MS,
};

/** The filter of the request to the server. */
export function requestFilter(state: RequestsUrlState, nowMs: number): RequestFilter {
  const { range, fromMs, toMs, open: _, search, ...rest } = state;
  if (search !== undefined) return { search };
  const isCustom = fromMs !== undefined || toMs !== undefined;
  return present({ ...rest, fromMs: isCustom ? fromMs : range && nowMs - RANGE_MS[range], toMs });
}

/** The drawer is no filter. */
export function hasRequestFilter({ open: _, ...filters }: RequestsUrlState): boolean {
  return isFiltered(filters);
}

/** True when new requests can match: the filter names neither an end nor a single id. */
export function canFollow({ toMs, search }: RequestsUrlState): boolean {
  return toMs === undefined && search === undefined;
}
