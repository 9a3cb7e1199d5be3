import { present } from '#core/present.ts';
import type { RateLimits } from '#core/principal.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';

/** SQL that reads a column of each type. */
const READ = {
  /** Text, an `integer`, a `boolean` or a list. */
  plain: (column: string) => column,
  /** A `bigint` that is read as a number. */
  count: (column: string) => `${column}::float8`,
  /** Nano-dollars, of which `records` makes a `bigint`. */
  amount: (column: string) => `${column}::text`,
  /** A `timestamptz`, read as Unix milliseconds. */
  moment: nearestMilliseconds,
};

/** Name and type of the column of each setting. A missing setting does not compile. */
export type SettingColumns<Values> = {
  readonly [Name in keyof Values]-?: readonly [column: string, type: keyof typeof READ];
};

export const RATE_LIMIT_COLUMNS: SettingColumns<RateLimits> = {
  requestsPerMinute: ['rpm', 'count'],
  tokensPerMinute: ['tpm', 'count'],
  dailyBudgetNanoUsd: ['daily_budget_nano_usd', 'amount'],
};

/** SQL that reads the settings of `table`, as columns named like the members of a record. */
export function readSettings<Values>(columns: SettingColumns<Values>, table: string): string {
  return entriesOf(columns)
    .map(([name, [column, type]]) => `${READ[type](`${table}.${column}`)} as "${name}"`)
    .join(', ');
}

/** Columns and parameters of a statement that writes the settings. `first`: first parameter. */
export function writeSettings<Values>(columns: SettingColumns<Values>, first: number) {
  const written = entriesOf(columns).map(([, [column, type]], i) => {
    const parameter = `$${first + i}`;
    return [column, type === 'moment' ? `to_timestamp(${parameter}::double precision / 1000)` : parameter] as const;
  });
  return {
    columns: written.map(([column]) => column).join(', '),
    parameters: written.map(([, parameter]) => parameter).join(', '),
  };
}

/** The settings among the members of a record. */
export function settingsOf<Values extends object>(columns: SettingColumns<Values>, record: Values): Values {
  return present(Object.fromEntries(entriesOf(columns).map(([name]) => [name, record[name]]))) as Values;
}

/** Values of the parameters of `writeSettings`. */
export function valuesOf<Values extends object>(columns: SettingColumns<Values>, record: Values): unknown[] {
  return entriesOf(columns).map(([name]) => record[name] ?? null);
}

export function amountsOf<Values>(columns: SettingColumns<Values>): readonly (keyof Values & string)[] {
  return entriesOf(columns).flatMap(([name, [, type]]) => (type === 'amount' ? [name] : []));
}

function entriesOf<Values>(columns: SettingColumns<Values>) {
  return Object.entries(columns) as [keyof Values & string, SettingColumns<Values>[keyof Values]][];
}
