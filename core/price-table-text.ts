import { NO_PRICES, type Prices, type PriceTable, type TierPrices } from './pricing.ts';

/** Texts of prices, cached by object: a configuration has one table for each model. */
const pricesTexts = new WeakMap<Prices, string>();
const tableTexts = new WeakMap<PriceTable, string>();

/** Prices as JSON, amounts as decimal text. */
export function pricesText(prices: Prices): string {
  return cached(pricesTexts, prices, () => JSON.stringify(prices, bigintAsText));
}

export function tableText(table: PriceTable): string {
  return cached(tableTexts, table, () =>
    JSON.stringify({ ...table, serviceTiers: Object.fromEntries(table.serviceTiers) }, bigintAsText),
  );
}

function cached<Key extends object>(texts: WeakMap<Key, string>, key: Key, write: () => string): string {
  let text = texts.get(key);
  if (text === undefined) {
    text = write();
    texts.set(key, text);
  }
  return text;
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

export type PricesJson = Readonly<Record<keyof Prices, string>>;

/** Parsed JSON of `tableText`. */
export interface TableJson extends TierJson {
  readonly serviceTiers: Readonly<Record<string, TierJson>>;
}

export interface TierJson {
  readonly prices: PricesJson;
  readonly above: readonly { readonly inputTokens: number; readonly prices: PricesJson }[];
}

/** A price that the former release did not know is 0, and so are its tokens. */
export function pricesIn(json: Partial<PricesJson>): Prices {
  return { ...NO_PRICES, ...Object.fromEntries(Object.entries(json).map(([name, value]) => [name, BigInt(value)])) };
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
