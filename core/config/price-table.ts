import type { z } from 'zod';
import { byPrice, filledPrices, type OptionalPriceName, PRICE_KINDS, type PriceName } from '../price-kinds.ts';
import type { Prices, PriceTable, TierPrices } from '../pricing.ts';
import type { RuleProblem } from './problem.ts';
import { parsePrice } from './quantities.ts';
import { list, matching, named, read, section, whole } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Prices of models and costs of targets, in USD per million tokens. */

const MAX_ABOVE = 8;
/** Most tiers. Every request writes the table of its model to the charge log. */
const MAX_TIERS = 8;
const MAX_TOKENS = 100_000_000;

const price = read('USD per million tokens from 0 to 1000000 with at most 6 decimals, such as 0.25', parsePrice);

const ENTRY = Object.fromEntries(
  Object.values(PRICE_KINDS).map((kind) => [kind.name, 'fallsBackTo' in kind ? price.optional() : price]),
) as { [Name in PriceName]: Name extends OptionalPriceName ? z.ZodOptional<typeof price> : typeof price };
const above = list(
  section({ input_tokens: whole(1, MAX_TOKENS), ...ENTRY }),
  0,
  MAX_ABOVE,
  'prices such as {input_tokens: 272000, input: 2.5, output: 15}',
);

const TIER_NAME =
  'the name of a service tier such as flex: 1 to 64 of a-z, A-Z, 0-9, "_" and "-", and neither auto nor default';
const tierName = matching(/^(?!(?:auto|default)$)[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, TIER_NAME);

export const TABLE = {
  ...ENTRY,
  above: above.prefault([]),
  service_tiers: named(tierName, section({ ...ENTRY, above: above.prefault([]) }), TIER_NAME).prefault({}),
};
const priceTable = section(TABLE);

export type TableEntry = z.output<typeof priceTable>;
type TierEntry = Omit<TableEntry, 'service_tiers'>;
type PricesEntry = Omit<TierEntry, 'above'>;

export function checkPriceTable(path: Path, table: TableEntry): RuleProblem[] {
  const { service_tiers: tiers } = table;
  const names = Object.keys(tiers);
  const problems = [
    ...checkAscending(path, table),
    ...Object.entries(tiers).flatMap(([name, tier]) => checkAscending([...path, 'service_tiers', name], tier)),
  ];
  if (names.length > MAX_TIERS) {
    problems.push({ path: [...path, 'service_tiers'], message: `must have at most ${MAX_TIERS} tiers` });
  }
  return problems;
}

function checkAscending(path: Path, { above }: TierEntry): RuleProblem[] {
  return above.flatMap(({ input_tokens: tokens }, index) => {
    const before = above[index - 1]?.input_tokens ?? 0;
    if (tokens > before) return [];
    const place = [...path, 'above', index, 'input_tokens'];
    return [{ path: place, message: `must be more than that of the entry before it (${before})` }];
  });
}

export function buildPriceTable(table: TableEntry): PriceTable {
  const tiers = Object.entries(table.service_tiers).map(([name, tier]) => [name, tierPrices(tier)] as const);
  const prices = { ...tierPrices(table), serviceTiers: new Map(tiers) };
  if (hasPriceOf(table, 'cache_write_1h')) return { ...prices, cacheWrites: 'long' };
  return hasPriceOf(table, 'cache_write') ? { ...prices, cacheWrites: 'short' } : prices;
}

function hasPriceOf(table: TableEntry, kind: OptionalPriceName): boolean {
  const tiers: readonly TierEntry[] = [table, ...Object.values(table.service_tiers)];
  return tiers.some((tier) => [tier, ...tier.above].some((entry) => entry[kind] !== undefined));
}

function tierPrices({ above, ...entry }: TierEntry): TierPrices {
  return {
    prices: pricesOf(entry),
    above: above.map((one) => ({ inputTokens: one.input_tokens, prices: pricesOf(one) })),
  };
}

function pricesOf(entry: PricesEntry): Prices {
  const prices = filledPrices(entry);
  return byPrice((field) => prices[PRICE_KINDS[field].name]);
}
