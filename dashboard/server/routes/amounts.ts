import type { NanoUsd } from '#core/money.ts';

/** Values for the page, with amounts as decimal text. */
type Shown<Values> = {
  [Name in keyof Values]: NanoUsd extends Values[Name] ? string | Exclude<Values[Name], NanoUsd> : Values[Name];
};

export function shownAmounts<Values extends object>(values: Values): Shown<Values> {
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? String(value) : value,
  ]);
  return Object.fromEntries(shown);
}

/** Values for the database. Names of amounts end in `NanoUsd`. */
type Stored<Values> = {
  [Name in keyof Values]: Name extends `${string}NanoUsd` ? NanoUsd | Exclude<Values[Name], string> : Values[Name];
};

export function storedAmounts<Values extends object>(values: Values): Stored<Values> {
  const stored = Object.entries(values).map(([name, value]) => {
    const isAmount = name.endsWith('NanoUsd') && typeof value === 'string';
    return [name, isAmount ? BigInt(value) : value];
  });
  return Object.fromEntries(stored);
}
