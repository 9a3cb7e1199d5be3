import { parsePrice } from '#core/config/quantities.ts';
import type {
  CataloguePeriod,
  CataloguePrices,
  CataloguePricesAbove,
  CatalogueTier,
  CatalogueWindow,
} from '#core/model-catalogue/catalogue-model.ts';
import { mapPrices, usdPerMillion } from '#core/model-catalogue/map-prices.ts';
import type { SaidKinds, WitnessTable } from './witness-table.ts';

export interface Changed {
  readonly table: CataloguePeriod;
  /** Parts whose new prices are unknown, such as `service_tiers.flex`. */
  readonly leftOut: readonly string[];
}

/**
 * A price table after a change that the witness knows. Prices that the witness lacks change by the
 * same factor, if input and output have one in common. Otherwise they are left out.
 */
export function changedTable(table: CataloguePeriod, before: WitnessTable, after: WitnessTable): Changed {
  const leftOut: string[] = [];
  const factor = factorOf(before, after);
  const { above = [], service_tiers: tiers = {}, hours = [], ...prices } = table;
  const kept = <Part extends CataloguePrices>(place: string, part: Part): readonly Part[] => {
    const changed = scaled(part, factor);
    if (changed === undefined) leftOut.push(place);
    return changed === undefined ? [] : [changed];
  };
  const priced = (place: string, ours: CataloguePrices, said: SaidKinds): CataloguePrices => {
    const { input = ours.input, output = ours.output } = said;
    const optional = (kind: 'cached_input' | 'cache_write' | 'cache_write_1h') => {
      const saidPrice = kind === 'cache_write_1h' ? undefined : said[kind];
      const own = ours[kind];
      const price = saidPrice ?? (own === undefined ? undefined : scaled({ input: own, output: 0 }, factor)?.input);
      if (price === undefined && own !== undefined) leftOut.push(`${place}${kind}`);
      return price === undefined || price === input ? {} : { [kind]: price };
    };
    return { input, ...optional('cached_input'), ...optional('cache_write'), ...optional('cache_write_1h'), output };
  };
  const said = after.above.map(({ input_tokens, ...kinds }): CataloguePricesAbove => {
    const ours = above.find((one) => one.input_tokens === input_tokens) ?? prices;
    return { input_tokens, ...priced(`above.${input_tokens}.`, ours, kinds) };
  });
  const steps = said.length > 0 ? said : above.flatMap((one) => kept(`above.${one.input_tokens}`, one));
  const named = Object.entries(tiers).flatMap(([name, tier]) =>
    kept<CatalogueTier>(`service_tiers.${name}`, tier).map((one) => [name, one] as const),
  );
  const windows = hours.flatMap((window) => kept<CatalogueWindow>(`hours.${window.utc}`, window));
  return {
    table: {
      ...priced('', prices, after),
      ...(steps.length === 0 ? {} : { above: steps }),
      ...(named.length === 0 ? {} : { service_tiers: Object.fromEntries(named) }),
      ...(windows.length === 0 ? {} : { hours: windows }),
    },
    leftOut,
  };
}

interface Factor {
  readonly times: bigint;
  readonly per: bigint;
}

function factorOf(before: SaidKinds, after: SaidKinds): Factor | undefined {
  const [input, output] = [ratio(before.input, after.input), ratio(before.output, after.output)];
  if (input === undefined || output === undefined) return undefined;
  return input.times * output.per === output.times * input.per ? input : undefined;
}

function ratio(before: number | undefined, after: number | undefined): Factor | undefined {
  const [per, times] = [parsePrice(before ?? 0), parsePrice(after ?? 0)];
  return per === undefined || times === undefined || per === 0n || times === 0n ? undefined : { times, per };
}

/** `undefined`: there is no factor, or a price would have too many decimals for a table. */
function scaled<Part extends CataloguePrices>(part: Part, factor: Factor | undefined): Part | undefined {
  if (factor === undefined) return undefined;
  let isExact = true;
  const changed = mapPrices(part, (price) => {
    const picoUsd = parsePrice(price);
    if (picoUsd === undefined) return price;
    const times = picoUsd * factor.times;
    isExact &&= times % factor.per === 0n;
    return usdPerMillion(times / factor.per);
  });
  return isExact ? changed : undefined;
}
