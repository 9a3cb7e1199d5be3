import type { UsageGroupName } from '#contract/money.ts';
import { present } from '#core/present.ts';
import { PRESETS, readDays } from '../../search/days.ts';
import { idOf, oneOf, type RawUrl, text, type UrlState, urlReader } from '../../search/url-values.ts';

export const GROUPS: readonly UsageGroupName[] = ['day', 'model', 'key'];
export const MEASURES = ['cost', 'requests', 'tokens'] as const;
export type Measure = (typeof MEASURES)[number];
export const COLUMNS = [
  'day',
  'model',
  'key',
  'requests',
  'input',
  'cached',
  'cache-writes',
  'output',
  'reasoning',
  'cost',
] as const;
export type Column = (typeof COLUMNS)[number];
export type Order = 'asc' | 'desc';

const DEFAULT_GROUPS: readonly UsageGroupName[] = ['model'];

const readFields = urlReader({
  range: oneOf(PRESETS),
  from: text,
  to: text,
  by: readGroups,
  key: idOf('key'),
  model: text,
  show: oneOf(MEASURES),
  sort: oneOf(COLUMNS),
  order: oneOf(['asc', 'desc']),
});

/** `by` is a list such as `day,model`. */
export type UsageUrlState = UrlState<typeof readFields>;

export function readUsageUrl(raw: RawUrl): UsageUrlState {
  const { range, from, to, ...rest } = readFields(raw);
  return { ...rest, ...readDays({ range, from, to }) };
}

function readGroups(value: unknown): string | undefined {
  return typeof value === 'string' ? groupsOf(value).join(',') || undefined : undefined;
}

export function chosenGroups({ by }: UsageUrlState): readonly UsageGroupName[] {
  return by === undefined ? DEFAULT_GROUPS : groupsOf(by);
}

/**
 * In a fixed order, so that equal choices have equal URLs. The last group stays: a table needs
 * rows.
 */
export function toggleGroup(search: UsageUrlState, group: UsageGroupName): UsageUrlState {
  const chosen = chosenGroups(search);
  const groups = GROUPS.filter((name) => (name === group ? !chosen.includes(name) : chosen.includes(name)));
  if (groups.length === 0) return search;
  const { sort, order, ...rest } = search;
  // If the sorted column goes away, the default order applies.
  const stays = sort === undefined || !GROUPS.some((name) => name === sort) || groups.some((name) => name === sort);
  return { ...rest, by: groups.join(','), ...(stays ? present({ sort, order }) : {}) };
}

/** Newest first if grouped by day, else by cost. */
export function chosenSorting(search: UsageUrlState): { readonly sort: Column; readonly order: Order } {
  const groups = chosenGroups(search);
  const { sort = groups.includes('day') ? 'day' : 'cost', order } = search;
  return { sort, order: order ?? firstOrder(sort) };
}

/** A click on a column head sorts by it, a second click reverses the order. */
export function sortBy(search: UsageUrlState, column: Column): UsageUrlState {
  const { sort, order } = chosenSorting(search);
  const next = sort === column ? (order === 'asc' ? 'desc' : 'asc') : firstOrder(column);
  return { ...search, sort: column, order: next };
}

function firstOrder(column: Column): Order {
  return column === 'model' || column === 'key' ? 'asc' : 'desc';
}

function groupsOf(by: string): readonly UsageGroupName[] {
  const names = by.split(',');
  return GROUPS.filter((name) => names.includes(name));
}
