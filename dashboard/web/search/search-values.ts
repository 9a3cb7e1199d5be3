/** What stands behind the `?` of a page, as typed values: anything unknown or malformed is left out, never an error. */
export type RawSearch = Readonly<Record<string, unknown>>;

const MAX_LENGTH = 300;

export function textOf(raw: RawSearch, name: string): string | undefined {
  // The router reads digits as a number.
  const value = typeof raw[name] === 'number' ? String(raw[name]) : raw[name];
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH ? value : undefined;
}

export function numberOf(raw: RawSearch, name: string): number | undefined {
  const value = raw[name];
  const number =
    typeof value === 'number' ? value : typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : -1;
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function oneOf<const Value extends string>(
  raw: RawSearch,
  name: string,
  values: readonly Value[],
): Value | undefined {
  return values.find((value) => value === raw[name]);
}
