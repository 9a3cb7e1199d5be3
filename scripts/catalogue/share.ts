import type { CatalogueTier } from '../../core/model-catalogue/catalogue-model.ts';
import type { MapEntry } from './litellm-map.ts';
import { saidPrices } from './price-table.ts';

/** Count of the live chat models of the map, by what a price table says of their price. */
export interface Share {
  readonly priced: number;
  /** Models whose price the table says exactly. */
  readonly exact: number;
  /** Models among those that three prices say: input, cached input and output. */
  readonly byThreePrices: number;
  /** Models by kind of price that the table does not say; a model may have several. */
  readonly unsaid: ReadonlyMap<string, readonly string[]>;
}

export function shareOf(map: ReadonlyMap<string, MapEntry>, day: string): Share {
  const unsaid = new Map<string, string[]>();
  let priced = 0;
  let exact = 0;
  let byThreePrices = 0;
  for (const [name, entry] of map) {
    if (entry.mode !== 'chat' && entry.mode !== 'responses') continue;
    if (typeof entry.deprecation_date === 'string' && entry.deprecation_date <= day) continue;
    const said = saidPrices(name, entry);
    if (said === undefined) continue;
    priced++;
    for (const kind of said.unsaid) unsaid.set(kind, [...(unsaid.get(kind) ?? []), name]);
    if (said.unsaid.length > 0) continue;
    exact++;
    if (hasThreePrices(said.table) && said.table.service_tiers === undefined) byThreePrices++;
  }
  return { priced, exact, byThreePrices, unsaid };
}

function hasThreePrices({ above, cache_write, cache_write_1h }: CatalogueTier): boolean {
  return above === undefined && cache_write === undefined && cache_write_1h === undefined;
}

/** Lines for the terminal, the most frequent kind first. */
export function shareLines({ priced, exact, byThreePrices, unsaid }: Share): readonly string[] {
  const percent = (count: number) => `${((100 * count) / priced).toFixed(1)} %`;
  return [
    `${priced} live chat models have a price.`,
    `${exact} (${percent(exact)}) have one that the price table says exactly.`,
    `${byThreePrices} (${percent(byThreePrices)}) would have one with input, cached input and output alone.`,
    'Not said:',
    ...[...unsaid]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(([kind, names]) => `  ${String(names.length).padStart(3)}  ${kind}: ${names.slice(0, 3).join(', ')}`),
  ];
}
