import type { UsageGroupName } from '../../../contract/money.ts';
import { type Days, objectionToDays, PRESETS, type Preset, presetDays } from './usage-days.ts';

export const GROUPS: readonly UsageGroupName[] = ['day', 'model', 'key'];
export const MEASURES = ['cost', 'requests', 'tokens'] as const;
export type Measure = (typeof MEASURES)[number];
export const COLUMNS = ['day', 'model', 'key', 'requests', 'input', 'cached', 'output', 'reasoning', 'cost'] as const;
export type Column = (typeof COLUMNS)[number];
export type Order = 'asc' | 'desc';

/** As it stands in the URL. Absent is the default, so that the plain link stays plain. */
export interface UsageSearch {
  readonly range?: Preset;
  /** Both or none; before `range`. */
  readonly from?: string;
  readonly to?: string;
  /** `day,model` */
  readonly by?: string;
  readonly key?: string;
  readonly model?: string;
  readonly show?: Measure;
  readonly sort?: Column;
  readonly order?: Order;
}

export const DEFAULT_PRESET: Preset = '30d';
const DEFAULT_GROUPS: readonly UsageGroupName[] = ['model'];
const KEY_ID = /^key-[0-9A-HJKMNP-TV-Z]{26}$/;
/** Above every name that the server accepts. */
const MAX_TEXT = 300;

/** Whatever a URL says: what cannot be is left out. */
export function readUsageSearch(raw: Readonly<Record<string, unknown>>): UsageSearch {
  const days = { from: text(raw.from) ?? '', to: text(raw.to) ?? '' };
  const groups = typeof raw.by === 'string' ? groupsOf(raw.by) : [];
  return compact({
    ...(objectionToDays(days) === undefined ? days : { range: oneOf(PRESETS, raw.range) }),
    by: groups.length === 0 ? undefined : groups.join(','),
    // The server would refuse the whole question for what is no id.
    key: KEY_ID.test(text(raw.key) ?? '') ? text(raw.key) : undefined,
    model: text(raw.model),
    show: oneOf(MEASURES, raw.show),
    sort: oneOf(COLUMNS, raw.sort),
    order: oneOf(['asc', 'desc'] as const, raw.order),
  });
}

export function daysOf({ range, from, to }: UsageSearch, nowMs: number): Days {
  if (from !== undefined && to !== undefined) return { from, to };
  return presetDays(range ?? DEFAULT_PRESET, nowMs);
}

export function chosenGroups({ by }: UsageSearch): readonly UsageGroupName[] {
  return by === undefined ? DEFAULT_GROUPS : groupsOf(by);
}

/** In one order whatever they were chosen in, so that equal questions have equal URLs. The last one stays: a table needs rows. */
export function toggleGroup(search: UsageSearch, group: UsageGroupName): UsageSearch {
  const chosen = chosenGroups(search);
  const groups = GROUPS.filter((name) => (name === group ? !chosen.includes(name) : chosen.includes(name)));
  if (groups.length === 0) return search;
  const { sort, order, ...rest } = search;
  // A table that is sorted by a column which goes away falls back to its own order.
  const stays = sort === undefined || !GROUPS.some((name) => name === sort) || groups.some((name) => name === sort);
  return { ...rest, by: groups.join(','), ...(stays ? compact({ sort, order }) : {}) };
}

/** Newest first where there are days, else dearest first. */
export function chosenSorting(search: UsageSearch): { readonly sort: Column; readonly order: Order } {
  const groups = chosenGroups(search);
  const { sort = groups.includes('day') ? 'day' : 'cost', order } = search;
  return { sort, order: order ?? firstOrder(sort) };
}

/** A click on a column's head: sorted by it, and the other way round with the next click. */
export function sortBy(search: UsageSearch, column: Column): UsageSearch {
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

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT ? value : undefined;
}

function oneOf<T extends string>(values: readonly T[], value: unknown): T | undefined {
  return values.find((candidate) => candidate === value);
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without what is undefined: a router would write it into the URL. */
function compact<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>;
}
