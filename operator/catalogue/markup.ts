import { parsePrice } from '#core/config/quantities.ts';
import type { CataloguePrices } from '#core/model-catalogue/catalogue-model.ts';
import { mapPrices, usdPerMillion } from '#core/model-catalogue/map-prices.ts';

/** Surcharge in millionths, so that it is exact. */
export type Markup = bigint;

const WHOLE: Markup = 1_000_000n;
/** A percentage has at most 4 decimals. */
const PARTS_PER_PERCENT_DECIMALS = 4;
const PERCENT = /^(\d{1,4})(?:\.(\d{1,4}))?%?$/;

/** Parses `15`, `15%` or `7.5`. `undefined`: the text has another form. */
export function parseMarkup(text: string): Markup | undefined {
  const [, whole, fraction = ''] = PERCENT.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(PARTS_PER_PERCENT_DECIMALS, '0'));
}

/** Raises all prices of a table, rounding up to the last decimal of a price. */
export function markedUp<Table extends CataloguePrices>(table: Table, markup: Markup): Table {
  return mapPrices(table, (price) => {
    const picoUsd = parsePrice(price);
    // A price that the configuration would refuse is left as it is. The check of the entries
    // reports it.
    return picoUsd === undefined ? price : usdPerMillion((picoUsd * (WHOLE + markup) + WHOLE - 1n) / WHOLE);
  });
}
