import { PRESETS, readDays } from '../../search/days.ts';
import { oneOf, type RawUrl, text, type UrlState, urlReader } from '../../search/url-values.ts';

export const SUBJECTS = ['model', 'provider', 'organization'] as const;
export type Subject = (typeof SUBJECTS)[number];
export const MEASURES = ['list', 'revenue', 'cost', 'margin', 'losses'] as const;
export type Measure = (typeof MEASURES)[number];
export const COLUMNS = ['day', 'subject', 'requests', ...MEASURES] as const;
export type Column = (typeof COLUMNS)[number];
export type Order = 'asc' | 'desc';

const readFields = urlReader({
  range: oneOf(PRESETS),
  from: text,
  to: text,
  by: oneOf(SUBJECTS),
  daily: oneOf(['yes']),
  show: oneOf(MEASURES),
  sort: oneOf(COLUMNS),
  order: oneOf(['asc', 'desc']),
});

export type CostsUrlState = UrlState<typeof readFields>;

export function readCostsUrl(raw: RawUrl): CostsUrlState {
  const { range, from, to, ...rest } = readFields(raw);
  return { ...rest, ...readDays({ range, from, to }) };
}

/** `by` of the request for the table. */
export function groupsOf({ by = 'model', daily }: CostsUrlState): string {
  return daily === undefined ? by : `day,${by}`;
}

/** Newest first if grouped by day, else by revenue. */
export function chosenSorting({ sort, order, daily }: CostsUrlState): { readonly sort: Column; readonly order: Order } {
  const chosen = sort === 'day' && daily === undefined ? undefined : sort;
  const column = chosen ?? (daily === undefined ? 'revenue' : 'day');
  return { sort: column, order: (chosen && order) ?? firstOrder(column) };
}

/** A click on a column head sorts by it, a second click reverses the order. */
export function sortBy(search: CostsUrlState, column: Column): CostsUrlState {
  const { sort, order } = chosenSorting(search);
  const next = sort === column ? (order === 'asc' ? 'desc' : 'asc') : firstOrder(column);
  return { ...search, sort: column, order: next };
}

function firstOrder(column: Column): Order {
  return column === 'subject' ? 'asc' : 'desc';
}
