import { isObject } from '../json-object.ts';
import { formatPico } from '../money.ts';
import type { CataloguePrices } from './catalogue-model.ts';

/** The only numeric member of a table that is not a price. */
const LENGTH = 'input_tokens';

/**
 * The table with each of its prices changed, including those of lengths, tiers, hours and later
 * tables. Texts are changed too, because the configuration accepts prices as text.
 */
export function mapPrices<Table extends CataloguePrices>(
  table: Table,
  change: (price: number | string) => number | string,
): Table {
  const mapped = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => mapped(one, name));
    if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapped(one, key)]));
    const isPrice = (typeof value === 'number' || typeof value === 'string') && name !== LENGTH;
    return isPrice ? change(value) : value;
  };
  return mapped(table, '') as Table;
}

/** Converts pico-dollars per token to USD per million tokens. */
export function usdPerMillion(picoUsd: bigint): number {
  return Number(formatPico(picoUsd * 1_000_000n));
}
