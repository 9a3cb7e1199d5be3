import { isIdOf } from '#core/id-form.ts';
import { present } from '#core/present.ts';

/** Parameters behind the `?` of an address, unchecked. */
export type RawUrl = Readonly<Record<string, unknown>>;

/** Reads one parameter. `undefined` for a malformed value: the page then shows its default. */
type ReadValue<Value> = (value: unknown) => Value | undefined;

/** Parameters of a page. Absent ones have the default, so that the plain link stays plain. */
export type UrlState<Read extends (raw: RawUrl) => object> = Readonly<ReturnType<Read>>;

/**
 * Reads the named parameters of an address. Unknown and malformed ones are left out, never an
 * error.
 */
export function urlReader<Values>(
  readers: {
    readonly [Name in keyof Values]: ReadValue<Values[Name]>;
  },
): (raw: RawUrl) => { readonly [Name in keyof Values]?: Values[Name] | undefined } {
  const entries = Object.entries<ReadValue<unknown>>(readers);
  return (raw) => present(Object.fromEntries(entries.map(([name, read]) => [name, read(raw[name])]))) as never;
}

/** Longer than any name that the server accepts. */
const MAX_LENGTH = 300;

export function text(value: unknown): string | undefined {
  // The router reads digits as a number.
  const given = typeof value === 'number' ? String(value) : value;
  return typeof given === 'string' && given !== '' && given.length <= MAX_LENGTH ? given : undefined;
}

export function wholeNumber(value: unknown): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function oneOf<const Value extends string>(values: readonly Value[]): ReadValue<Value> {
  return (value) => values.find((candidate) => candidate === value);
}

/** Ids with this prefix. The server would refuse the whole request for any other text. */
export function idOf(prefix: 'org' | 'key' | 'log' | 'top'): ReadValue<string> {
  return (value) => (typeof value === 'string' && isIdOf(prefix, value) ? value : undefined);
}

/** An existing day, as `2026-11-21`. */
export function day(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined;
  const atMs = Date.parse(`${value}T00:00:00Z`);
  return Number.isNaN(atMs) || new Date(atMs).toISOString().slice(0, 10) !== value ? undefined : value;
}

/** True when any parameter differs from its default. */
export function isFiltered(state: object): boolean {
  return Object.values(state).some((value) => value !== undefined);
}
