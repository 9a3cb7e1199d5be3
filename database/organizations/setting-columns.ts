import { present } from '#core/present.ts';
import type { KeyLimits, OrganizationRules, RateLimits } from '#core/principal.ts';
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

type SettingColumn = readonly [column: string, type: keyof typeof READ];

/** The column of each setting. A missing one does not compile. */
export type SettingColumns<Values> = { readonly [Name in keyof Values]-?: SettingColumn };

export const RATE_LIMIT_COLUMNS: SettingColumns<RateLimits> = {
  requestsPerMinute: ['rpm', 'count'],
  tokensPerMinute: ['tpm', 'count'],
  dailyBudgetNanoUsd: ['daily_budget_nano_usd', 'amount'],
};
export const KEY_LIMIT_COLUMNS: SettingColumns<KeyLimits> = {
  ...RATE_LIMIT_COLUMNS,
  monthlyBudgetNanoUsd: ['monthly_budget_nano_usd', 'amount'],
  lifetimeBudgetNanoUsd: ['lifetime_budget_nano_usd', 'amount'],
};
export const RULE_COLUMNS: SettingColumns<OrganizationRules> = {
  allowMultipleCompletions: ['allow_n', 'plain'],
  concurrency: ['concurrency', 'plain'],
  maxTokens: ['max_tokens', 'count'],
  priceList: ['price_list', 'plain'],
};

/** SQL that reads the settings of `table`, as columns named like the members of a record. */
export function readSettings<Values>(columns: SettingColumns<Values>, table: string): string {
  return entriesOf(columns)
    .map(([name, [column, type]]) => `${READ[type](`${table}.${column}`)} as "${name}"`)
    .join(', ');
}

/** Columns and parameters of a statement that writes the settings. `first`: first parameter. */
export function writeSettings<Values>(columns: SettingColumns<Values>, first: number) {
  const written = Object.values<SettingColumn>(columns);
  const parameters = written.map(([, type], i) =>
    type === 'moment' ? `to_timestamp($${first + i}::double precision / 1000)` : `$${first + i}`,
  );
  return { columns: written.map(([column]) => column).join(', '), parameters: parameters.join(', ') };
}

/** The settings among the members of a record. */
export function settingsOf<Values extends object>(columns: SettingColumns<Values>, record: Values): Values {
  return present(Object.fromEntries(entriesOf(columns).map(([name]) => [name, record[name]]))) as Values;
}

/** Values of the parameters of `writeSettings`. */
export function valuesOf<Values extends object>(columns: SettingColumns<Values>, record: Values): unknown[] {
  return entriesOf(columns).map(([name]) => record[name] ?? null);
}

/** SQL of values of settings, for `settingsReader`. Names would cost a third more (measured). */
export function settingValues<Values>(columns: SettingColumns<Values>, table: string): string {
  return Object.values<SettingColumn>(columns)
    .map(([column, type]) => READ[type](`${table}.${column}`))
    .join(', ');
}

/** Makes settings of the values of `settingValues`. Null: absent. */
export function settingsReader<Values>(columns: SettingColumns<Values>): (values: readonly unknown[]) => Values {
  const entries = entriesOf(columns);
  return (values) => {
    const settings: Record<string, unknown> = {};
    for (const [i, [name, [, type]]] of entries.entries()) {
      const value = values[i];
      if (value !== null) settings[name] = type === 'amount' ? BigInt(String(value)) : value;
    }
    return settings as Values;
  };
}

export function amountsOf<Values>(columns: SettingColumns<Values>): readonly (keyof Values & string)[] {
  return entriesOf(columns).flatMap(([name, [, type]]) => (type === 'amount' ? [name] : []));
}

function entriesOf<Values>(columns: SettingColumns<Values>) {
  return Object.entries(columns) as [keyof Values & string, SettingColumns<Values>[keyof Values]][];
}
