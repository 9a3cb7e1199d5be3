import type { CatalogueTier } from '#core/model-catalogue/catalogue-model.ts';
import type { MapEntry } from './litellm-map.ts';
import { saidPrices } from './price-table.ts';

/** Counts of the map's live chat models, by how well a price table expresses their prices. */
export interface Share {
  readonly priced: number;
  /** Models for which only tokens are billed. */
  readonly byTokensAlone: number;
  /** Models whose price the table expresses exactly. For all of them only tokens are billed. */
  readonly exact: number;
  /** Those among them with just three prices: input, cached input and output. */
  readonly byThreePrices: number;
  /** Models by kind of price that the table cannot express. A model may have several. */
  readonly unsaid: ReadonlyMap<string, readonly string[]>;
}

/** Kinds of tokens that the table cannot express. Other kinds are not tokens. */
const TOKEN_KINDS: ReadonlySet<string> = new Set([
  'reasoning tokens, beside output',
  'hour of the day',
  'two prices of cached tokens',
  'more than 6 decimals',
  'more than 8 lengths of prompts',
  'images in, their tokens',
  'no price of output',
]);

export function shareOf(map: ReadonlyMap<string, MapEntry>, day: string): Share {
  const unsaid = new Map<string, string[]>();
  let priced = 0;
  let byTokensAlone = 0;
  let exact = 0;
  let byThreePrices = 0;
  for (const [name, entry] of map) {
    if (entry.mode !== 'chat' && entry.mode !== 'responses') continue;
    if (typeof entry.deprecation_date === 'string' && entry.deprecation_date <= day) continue;
    const said = saidPrices(name, entry);
    if (said === undefined) continue;
    priced++;
    if (said.unsaid.every((kind) => TOKEN_KINDS.has(kind))) byTokensAlone++;
    for (const kind of said.unsaid) unsaid.set(kind, [...(unsaid.get(kind) ?? []), name]);
    if (said.unsaid.length > 0) continue;
    exact++;
    if (hasThreePrices(said.table) && said.table.service_tiers === undefined) byThreePrices++;
  }
  return { priced, byTokensAlone, exact, byThreePrices, unsaid };
}

function hasThreePrices({ above, cache_write, cache_write_1h }: CatalogueTier): boolean {
  return above === undefined && cache_write === undefined && cache_write_1h === undefined;
}

/** Lines for the terminal, most frequent kind first. */
export function shareLines({ priced, byTokensAlone, exact, byThreePrices, unsaid }: Share): readonly string[] {
  const percent = (count: number, of = priced) => `${((100 * count) / of).toFixed(1)} %`;
  const lines = [...unsaid]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([kind, names]) => {
      const tokens = TOKEN_KINDS.has(kind) ? 'tokens: ' : '';
      return `  ${String(names.length).padStart(3)}  ${tokens}${kind}: ${names.join(', ')}`;
    });
  return [
    `${priced} live chat models have a price, ${byTokensAlone} of them of tokens alone.`,
    `${exact} have one that the price table says exactly: ${percent(exact)}, of those of tokens alone ${percent(exact, byTokensAlone)}.`,
    `${byThreePrices} (${percent(byThreePrices)}) would have one with input, cached input and output alone.`,
    'Not said:',
    ...lines,
  ];
}
