import { filledPrices, PRICE_KINDS } from '../price-kinds.ts';
import { TWIN_TIERS } from '../service-tiers.ts';
import type { CataloguePrices, CatalogueTable, CatalogueTier } from './catalogue-model.ts';
import type { Difference } from './comparison.ts';

/** A price that differs, or a part that the configuration lacks, by its path in the table. */
export type TableDifference = Omit<Difference, 'model'>;

const KINDS = Object.values(PRICE_KINDS);

/**
 * Compares the prices of requests of every length and tier. Lengths are those at which a table
 * changes its prices, below `longestPrompt`. A price that falls back to another one in both tables
 * is skipped, because it would repeat that one's difference.
 */
export function priceDifferences(
  configured: CatalogueTable,
  catalogue: CatalogueTable,
  longestPrompt: number,
  differs: (configured: number, catalogue: number) => boolean,
): readonly TableDifference[] {
  return [
    ...tierDifferences('', configured, catalogue),
    ...Object.entries(configured.service_tiers ?? {}).flatMap(([name, ours]) => {
      const theirs = tierNamed(name, catalogue);
      return theirs === undefined ? [] : tierDifferences(`service_tiers.${name}.`, ours, theirs);
    }),
  ];

  function tierDifferences(place: string, ours: CatalogueTier, theirs: CatalogueTier): readonly TableDifference[] {
    const steps = [...(ours.above ?? []), ...(theirs.above ?? [])].map(({ input_tokens }) => input_tokens);
    const reachable = [...new Set([0, ...steps])].sort((a, b) => a - b).filter((step) => step < longestPrompt);
    return reachable.flatMap((step) => {
      const prices = filledPrices(entryAbove(ours, step));
      const entry = entryAbove(theirs, step);
      const expected = filledPrices(entry);
      const isDefault = (kind: (typeof KINDS)[number]) => {
        if (!('fallsBackTo' in kind)) return false;
        const { name, fallsBackTo: from } = kind;
        return prices[name] === prices[from] && expected[name] === expected[from];
      };
      // Most providers have no one-hour cache writes.
      return KINDS.filter(({ name }) => name !== 'cache_write_1h' || entry.cache_write_1h !== undefined)
        .filter((kind) => differs(prices[kind.name], expected[kind.name]) && !isDefault(kind))
        .map(({ name }) => ({
          field: `${place}${step === 0 ? '' : `above.${step}.`}${name}`,
          configured: prices[name],
          catalogue: expected[name],
        }));
    });
  }
}

/** Tiers of the catalogue that a table lacks. A request at one of them has no price of its own. */
export function missingTiers(configured: CatalogueTable, catalogue: CatalogueTable): readonly TableDifference[] {
  return Object.entries(catalogue.service_tiers ?? {})
    .filter(([name]) => tierNamed(name, configured) === undefined)
    .map(([name, tier]) => ({ field: `service_tiers.${name}`, configured: null, catalogue: pricesInWords(tier) }));
}

export function pricesInWords({ input, output }: CataloguePrices): string {
  return `input ${input}, output ${output}`;
}

function tierNamed(name: string, { service_tiers: tiers }: CatalogueTable): CatalogueTier | undefined {
  return tiers?.[name] ?? tiers?.[TWIN_TIERS.get(name) ?? name];
}

/** The entry that applies to a prompt with more tokens than `step`. */
function entryAbove(tier: CatalogueTier, step: number): CataloguePrices {
  return tier.above?.findLast(({ input_tokens }) => input_tokens <= step) ?? tier;
}
