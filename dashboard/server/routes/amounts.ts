import type { Settings } from '#contract/setting.ts';
import type { NanoUsd } from '#core/money.ts';
import { present } from '#core/present.ts';

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

/** The settings of a record, with amounts as decimal text. */
export function shownSettings<Values extends object>(settings: Settings<Values>, record: Stored<Values>): Values {
  const names = Object.keys(settings) as (keyof Values)[];
  const values = present(Object.fromEntries(names.map((name) => [name, record[name]])));
  return shownAmounts(values) as unknown as Values;
}
