import { PRICED_TOKENS, type Prices, type TokenUsage } from '#core/pricing.ts';

/** The column of each kind of tokens, in `generations`, `daily_usage` and `user_usage`. */
const TOKEN_COLUMNS = {
  promptTokens: 'prompt_tokens',
  completionTokens: 'completion_tokens',
  cachedTokens: 'cached_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  cacheWrite1hTokens: 'cache_write_1h_tokens',
  reasoningTokens: 'reasoning_tokens',
} as const satisfies Record<keyof TokenUsage, string>;

/** The column of each price in `generations`. */
const PRICE_COLUMNS = {
  inputPicoUsd: 'input_pico_usd',
  cachedInputPicoUsd: 'cached_input_pico_usd',
  cacheWritePicoUsd: 'cache_write_pico_usd',
  cacheWrite1hPicoUsd: 'cache_write_1h_pico_usd',
  outputPicoUsd: 'output_pico_usd',
} as const satisfies Record<keyof Prices, string>;

type TokenColumn = (typeof TOKEN_COLUMNS)[keyof TokenUsage];
const COLUMNS: readonly TokenColumn[] = Object.values(TOKEN_COLUMNS);

/** PostgreSQL's driver returns `bigint` and sums as text. */
export type TokenRow<Value = string> = Readonly<Record<TokenColumn, Value>>;

/** `null` is the sum of no rows. */
export function usageOf(row: TokenRow<string | number | null>): TokenUsage {
  const tokens = Object.entries(TOKEN_COLUMNS).map(([kind, column]) => [kind, Number(row[column])]);
  return Object.fromEntries(tokens) as Record<keyof TokenUsage, number>;
}

/** PostgreSQL's driver returns `bigint` as text. */
export type PriceRow = Readonly<Record<(typeof PRICE_COLUMNS)[keyof Prices], string>>;

/** As decimal text, for JSON. */
export function pricesOf(row: PriceRow): Readonly<Record<keyof Prices, string>> {
  const prices = Object.entries(PRICE_COLUMNS).map(([price, column]) => [price, row[column]]);
  return Object.fromEntries(prices) as Record<keyof Prices, string>;
}

export const PRICE_LIST = Object.values(PRICE_COLUMNS).join(', ');

/** An SQL list with an expression for each kind of tokens, in one order everywhere. */
export function tokenList(expression: (column: TokenColumn) => string = (column) => column): string {
  return COLUMNS.map(expression).join(', ');
}

/** SQL for the charge of a row of `generations`: nano-dollars, rounded up once. */
export function chargeSql(table: string): string {
  const column = (kind: keyof TokenUsage) => `${table}.${TOKEN_COLUMNS[kind]}`;
  const parts = Object.entries(PRICED_TOKENS).map(([price, { tokens, without }]) => {
    const counted = [tokens, ...without].map(column).join(' - ');
    return `(${counted})::numeric * ${table}.${PRICE_COLUMNS[price as keyof Prices]}`;
  });
  return `ceil((${parts.join(' + ')}) / 1000)`;
}
