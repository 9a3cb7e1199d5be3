import { parsePrice } from '../../core/config/quantities.ts';
import type {
  CataloguePrices,
  CataloguePricesAbove,
  CatalogueTable,
  CatalogueTier,
} from '../../core/model-catalogue/catalogue-model.ts';
import { formatPico } from '../../core/money.ts';

/** Surcharge in parts of a million, so that it is exact. */
export type Markup = bigint;

const WHOLE: Markup = 1_000_000n;
/** The text is a percentage with at most 4 decimals. */
const PARTS_PER_PERCENT_DECIMALS = 4;
const PERCENT = /^(\d{1,4})(?:\.(\d{1,4}))?%?$/;

/** `15`, `15%` or `7.5`. `undefined`: the text is none of these. */
export function parseMarkup(text: string): Markup | undefined {
  const [, whole, fraction = ''] = PERCENT.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(PARTS_PER_PERCENT_DECIMALS, '0'));
}

/** The table with all of its prices raised, rounded up to the last decimal of a price. */
export function markedUp(table: CatalogueTable, markup: Markup): CatalogueTable {
  const { service_tiers: tiers } = table;
  const raised = Object.entries(tiers ?? {}).map(([name, tier]) => [name, tierUp(tier, markup)] as const);
  return { ...tierUp(table, markup), ...(tiers === undefined ? {} : { service_tiers: Object.fromEntries(raised) }) };
}

function tierUp({ above, ...prices }: CatalogueTier, markup: Markup): CatalogueTier {
  const raised = above?.map(
    ({ input_tokens, ...one }): CataloguePricesAbove => ({ input_tokens, ...pricesUp(one, markup) }),
  );
  return { ...pricesUp(prices, markup), ...(raised === undefined ? {} : { above: raised }) };
}

function pricesUp(prices: CataloguePrices, markup: Markup): CataloguePrices {
  const { input, cached_input, cache_write, cache_write_1h, output } = prices;
  const up = (price: number) => priceUp(price, markup);
  return {
    input: up(input),
    ...(cached_input === undefined ? {} : { cached_input: up(cached_input) }),
    ...(cache_write === undefined ? {} : { cache_write: up(cache_write) }),
    ...(cache_write_1h === undefined ? {} : { cache_write_1h: up(cache_write_1h) }),
    output: up(output),
  };
}

/** A price that the configuration refuses stays as it is: the check of the entries reports it. */
function priceUp(price: number, markup: Markup): number {
  const picoUsd = parsePrice(price);
  if (picoUsd === undefined) return price;
  const raised = (picoUsd * (WHOLE + markup) + WHOLE - 1n) / WHOLE;
  return Number(formatPico(raised * 1_000_000n));
}
