import { isIdOf } from '#core/id-form.ts';
import { present } from '#core/present.ts';
import { isStorable } from '#core/visible-text.ts';
import { MAX_FILTER_CHARACTERS, MAX_FILTER_VALUES } from './explore.ts';

/** Parameters behind the `?` of an address, unchecked. */
export type RawSearch = Readonly<Record<string, unknown>>;
/** Reads one parameter. `undefined` for a malformed value and for the default. */
type ReadValue<Value> = (value: unknown) => Value | undefined;
type Readers<Values> = { readonly [Name in keyof Values]: ReadValue<Values[Name]> };
type State<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

/**
 * Reads the state of a page from its address. Unknown, malformed and default values are left out.
 * An absent parameter has its default, so a link without filters has no parameters.
 */
export interface Search<State extends object> {
  (raw: RawSearch): State;
  /** A change that removes every filter. */
  readonly unfiltered: Partial<State>;
}

/** Declares a page's parameters: its filters, and other state (`view`) such as an open dialog. */
export function defineSearch<Filters, View = unknown>(
  filters: Readers<Filters>,
  view?: Readers<View>,
): Search<State<Filters & View>> {
  const readers = Object.entries<ReadValue<unknown>>({ ...filters, ...view });
  const read = (raw: RawSearch) =>
    present(Object.fromEntries(readers.map(([name, readValue]) => [name, readValue(raw[name])]))) as never;
  const unfiltered = Object.fromEntries(Object.keys(filters).map((name) => [name, undefined]));
  return Object.assign(read, { unfiltered: unfiltered as Partial<State<Filters & View>> });
}

/** Parameters of an address by name. A repeated parameter becomes a list. */
export function readQuery(search: string): RawSearch {
  const byName = Map.groupBy(new URLSearchParams(search), ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, pairs]) => {
      const values = pairs.map(([, value]) => value);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}

/** `?a=1&b=2&b=3`, or '' without parameters. Without absent and empty values, except in lists. */
export function queryText(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== '')
    .flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]));
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}

export function text(value: unknown): string | undefined {
  // The router parses digits as a number.
  const given = typeof value === 'number' ? String(value) : value;
  return typeof given === 'string' && given !== '' && given.length <= MAX_FILTER_CHARACTERS && isStorable(given)
    ? given
    : undefined;
}

/** A text. The empty text filters for requests that have no such value. */
export function textOrNone(value: unknown): string | undefined {
  return value === '' ? value : text(value);
}

/** A list of distinct values, each read by `read`. Malformed ones are dropped. */
export function list(read: ReadValue<string>): ReadValue<readonly string[]> {
  return (value) => {
    const given: readonly unknown[] = Array.isArray(value) ? value : [value];
    const values = new Set(given.flatMap((one) => read(one) ?? []));
    return values.size > 0 && values.size <= MAX_FILTER_VALUES ? [...values] : undefined;
  };
}

export function wholeNumber(value: unknown): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** End of the four-digit years. */
const LAST_MS = Date.UTC(9999, 11, 31);

/** A time in milliseconds. */
export function moment(value: unknown): number | undefined {
  const atMs = wholeNumber(value) ?? Number.POSITIVE_INFINITY;
  return atMs <= LAST_MS ? atMs : undefined;
}

/** One of these values. The default is left out. */
export function oneOf<const Value extends string>(values: readonly Value[], usual?: Value): ReadValue<Value> {
  return (value) => values.find((candidate) => candidate === value && candidate !== usual);
}

/** Ids with this prefix. Other text is dropped: the server would refuse the request. */
export function idOf(prefix: 'org' | 'key' | 'log' | 'top'): ReadValue<string> {
  return (value) => (typeof value === 'string' && isIdOf(prefix, value) ? value : undefined);
}
