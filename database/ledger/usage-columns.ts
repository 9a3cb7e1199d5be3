import { byTokens, PRICE_FIELDS, PRICE_KINDS, TOKEN_KINDS, TOKEN_NAMES, type TokenKind } from '#core/price-kinds.ts';
import type { TokenUsage } from '#core/pricing.ts';

type TokenColumn = (typeof TOKEN_KINDS)[TokenKind]['column'];

/** pg returns `bigint` and sums as text. */
export type TokenRow<Value = string> = Readonly<Record<TokenColumn, Value>>;

/** Usage of a row. `null` is the sum of no rows. */
export function usageOf(row: TokenRow<string | number | null>): TokenUsage {
  return byTokens((kind) => Number(row[TOKEN_KINDS[kind].column]));
}

/** SQL of prices as JSON, with decimal text. */
export const PRICES_JSON = `json_build_object(${PRICE_FIELDS.map((field) => `'${field}', ${PRICE_KINDS[field].column}::text`).join(', ')})`;

/** SQL list of one expression for each token kind, always in the same order. */
export function tokenList(expression: (column: TokenColumn) => string = (column) => column): string {
  return TOKEN_NAMES.map((kind) => expression(TOKEN_KINDS[kind].column)).join(', ');
}

export const USAGE_JSON = `json_build_object(${TOKEN_NAMES.map((kind) => `'${kind}', ${TOKEN_KINDS[kind].column}`).join(', ')})`;

/** SQL of the charge for a row of `generations`, in nano-dollars, rounded up once. */
export function chargeSql(table: string): string {
  const parts = Object.values(PRICE_KINDS).map(({ column, tokens, without }) => {
    const counted = [tokens, ...without].map((kind) => `${table}.${TOKEN_KINDS[kind].column}`).join(' - ');
    return `(${counted})::numeric * ${table}.${column}`;
  });
  return `ceil((${parts.join(' + ')}) / 1000)`;
}
