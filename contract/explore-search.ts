import { DAY_MS, HOUR_MS, MINUTE_MS } from '#core/clock.ts';
import { present } from '#core/present.ts';
import {
  defineSearch,
  idOf,
  list,
  moment,
  oneOf,
  type RawSearch,
  type Search,
  text,
  textOrNone,
  wholeNumber,
} from './define-search.ts';
import {
  EXPLORE_RANKS,
  type ExploreGrouping,
  type ExploreRank,
  GROUPINGS,
  isMetadataGrouping,
  LONGEST_EXPLORED_MS,
  MAX_DURATION_MS,
  SHORTEST_EXPLORED_MS,
  STATUS_CLASSES,
} from './explore.ts';
import type { ExploreFilter } from './explore-filter.ts';

/** Ranges that end now. */
const LENGTHS = {
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
  '1y': 365 * DAY_MS,
} as const;
type Length = keyof typeof LENGTHS;
/** The last three are whole UTC days, like those of budgets and charges. */
export type Range = Length | 'yesterday' | 'month' | 'last-month';

export const RANGES: Readonly<Record<Range, string>> = {
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  yesterday: 'Yesterday (UTC)',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  month: 'This month (UTC)',
  'last-month': 'Last month (UTC)',
  '90d': 'Last 90 days',
  '1y': 'Last year',
};
export const USUAL_RANGE = '7d';
export const LIST_RANGES = { all: 'All time', ...rangesOf('24h', '7d', '30d', '90d') };
/** Ranges for daily figures. */
export const DAY_RANGES = rangesOf('yesterday', '7d', '30d', 'month', 'last-month', '90d', '1y');

function rangesOf<Name extends Range>(...names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, RANGES[name]])) as Record<Name, string>;
}

export const MEASURES = ['cost', 'margin', 'requests', 'failures', 'tokens', 'cached', 'p50', 'p95', 'speed'] as const;
export type Measure = (typeof MEASURES)[number];

/** Groups are not ranked by shares, times or margins: then the groups with most spend are shown. */
export function rankOf(measure: Measure): ExploreRank {
  return EXPLORE_RANKS.find((rank) => rank === measure) ?? 'cost';
}

/** Filters with several values, by name in an address. `field` is the name for the server. */
export const LISTS = {
  key: { field: 'keys', label: 'Key' },
  model: { field: 'models', label: 'Model' },
  code: { field: 'codes', label: 'Error code' },
  status: { field: 'statusClasses', label: 'Status' },
  user: { field: 'users', label: 'End user' },
  metadata: { field: 'metadata', label: 'Metadata' },
  provider: { field: 'providers', label: 'Provider' },
  organization: { field: 'organizations', label: 'Organization' },
} as const satisfies Readonly<Record<string, { field: keyof ExploreFilter; label: string }>>;
export type ListName = keyof typeof LISTS;

/**
 * The state of the explorer. `search` is a request or generation id, which overrides every filter
 * of the list. `open` is the id of the request in the drawer.
 */
export const exploreSearch = defineSearch(
  {
    key: list(idOf('key')),
    model: list(textOrNone),
    code: list(textOrNone),
    status: list(oneOf(STATUS_CLASSES)),
    user: list(textOrNone),
    metadata: list((value) => (text(value)?.includes('=') ? text(value) : undefined)),
    provider: list(textOrNone),
    organization: list(idOf('org')),
    outcome: oneOf(['succeeded', 'failed']),
    streamed: oneOf(['yes', 'no']),
    /** In nano-dollars. */
    cost: wholeNumber,
    /** In milliseconds. */
    duration: (value) => (Number(value) <= MAX_DURATION_MS ? wholeNumber(value) : undefined),
    search: text,
  },
  {
    range: oneOf(Object.keys(RANGES) as Range[], USUAL_RANGE),
    fromMs: moment,
    toMs: moment,
    by: grouping,
    show: oneOf(MEASURES),
    compare: oneOf(['yes']),
    sort: oneOf(['name', 'balance', 'lasts', ...MEASURES]),
    order: oneOf(['asc', 'desc']),
    open: idOf('log'),
  },
);
export type ExploreState = ReturnType<typeof exploreSearch>;

/** Drops filter and grouping by organizations, which the server refuses within one. */
export const exploreSearchOfOne: Search<ExploreState> = Object.assign(
  (raw: RawSearch) =>
    exploreSearch({ ...raw, organization: undefined, ...(raw.by === 'organization' && { by: undefined }) }),
  { unfiltered: exploreSearch.unfiltered },
);

/** The time range in an address. `fromMs` and `toMs` override `range`. Either may be absent. */
export interface TimeState<Name extends string = string> {
  readonly range?: Name | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

function grouping(value: unknown): ExploreGrouping | undefined {
  const known = GROUPINGS.find((name) => name === value);
  return known ?? (typeof value === 'string' && isMetadataGrouping(value) ? value : undefined);
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The time range of an address, within the bounds of the server. */
export function spanOf({ range = USUAL_RANGE, fromMs, toMs }: TimeState, nowMs: number): Span {
  if (fromMs === undefined && toMs === undefined) return rangeSpan(range, nowMs);
  const endMs = toMs ?? nowMs;
  const startMs = Math.max(fromMs ?? endMs - LENGTHS[USUAL_RANGE], endMs - LONGEST_EXPLORED_MS);
  return { fromMs: startMs, toMs: Math.max(endMs, startMs + SHORTEST_EXPLORED_MS) };
}

function rangeSpan(range: string, nowMs: number): Span {
  const now = new Date(nowMs);
  const monthMs = (later: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later);
  const todayMs = nowMs - (nowMs % DAY_MS);
  switch (range) {
    case 'yesterday':
      return { fromMs: todayMs - DAY_MS, toMs: todayMs };
    case 'month':
      return { fromMs: monthMs(0), toMs: Math.max(nowMs, monthMs(0) + SHORTEST_EXPLORED_MS) };
    case 'last-month':
      return { fromMs: monthMs(-1), toMs: monthMs(0) };
    default:
      return { fromMs: nowMs - (LENGTHS[range as Length] ?? LENGTHS[USUAL_RANGE]), toMs: nowMs };
  }
}

/** The time range of a list. A named range has no end, so that new requests appear. */
export function boundsOf({ range, fromMs, toMs }: TimeState, nowMs: number): Partial<Span> {
  if (range === undefined || fromMs !== undefined || toMs !== undefined) return present({ fromMs, toMs });
  return { fromMs: rangeSpan(range, nowMs).fromMs };
}

/** Shows the requests behind a part of a chart. Of a chart of errors, only the failed ones. */
export function requestsIn(state: ExploreState, span: Span): ExploreState {
  const failed = state.show === 'failures' ? ({ outcome: 'failed' } as const) : {};
  return { ...state, range: undefined, ...span, ...failed };
}

/** The server's filter for this state, without the time. */
export function filterOf(state: ExploreState): Omit<ExploreFilter, 'fromMs' | 'toMs'> {
  const { outcome, streamed, cost, duration } = state;
  const lists = Object.entries(LISTS).map(([name, { field }]) => [field, state[name as ListName]]);
  return present({
    ...(Object.fromEntries(lists) as Partial<Record<keyof ExploreFilter, never>>),
    outcome,
    streamed: streamed && streamed === 'yes',
    minCostNanoUsd: cost?.toString(),
    minDurationMs: duration,
  });
}
