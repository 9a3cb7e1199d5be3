import { byPrice } from './price-kinds.ts';
import type { Prices, PriceTable, TierPrices } from './pricing.ts';

/** Cached texts by table. A configuration has one table object for each model. */
const tableTexts = new WeakMap<PriceTable, string>();

/** A price table as JSON, amounts as decimal text. */
export function tableText(table: PriceTable): string {
  let text = tableTexts.get(table);
  if (text === undefined) {
    const { prices, above, serviceTiers } = table;
    text = JSON.stringify({ prices, above, serviceTiers: Object.fromEntries(serviceTiers) }, bigintAsText);
    tableTexts.set(table, text);
  }
  return text;
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/** Pico-dollars per token, which equal micro-dollars per million tokens, as decimal text. */
export type PricesJson = Readonly<Record<keyof Prices, string>>;

/** Parsed JSON of `tableText`. */
export interface TableJson extends TierJson {
  readonly serviceTiers: Readonly<Record<string, TierJson>>;
}

/** Prices of a service tier. Those of `above` are for prompts with more tokens, ascending. */
export interface TierJson {
  readonly prices: PricesJson;
  readonly above: readonly { readonly inputTokens: number; readonly prices: PricesJson }[];
}

function pricesIn(json: PricesJson): Prices {
  return byPrice((price) => BigInt(json[price]));
}

export function tableIn(json: TableJson): PriceTable {
  const tiers = Object.entries(json.serviceTiers).map(([name, tier]) => [name, tierIn(tier)] as const);
  return { ...tierIn(json), serviceTiers: new Map(tiers) };
}

function tierIn({ prices, above }: TierJson): TierPrices {
  return {
    prices: pricesIn(prices),
    above: above.map((one) => ({ inputTokens: one.inputTokens, prices: pricesIn(one.prices) })),
  };
}
