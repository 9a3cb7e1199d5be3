import { expect, it } from 'vitest';
import type { CatalogueTable } from './catalogue-model.ts';
import { missingTiers, priceDifferences } from './price-differences.ts';

const THEIRS: CatalogueTable = {
  ...{ input: 2, cached_input: 0.2, cache_write: 2.5, output: 10 },
  above: [{ input_tokens: 272_000, input: 4, output: 15 }],
  service_tiers: { flex: { input: 1, output: 5 } },
};
const below = (ours: CatalogueTable, longestPrompt = 1_000_000) =>
  priceDifferences(ours, THEIRS, longestPrompt, (configured, catalogue) => configured < catalogue);

it('finds none in the same table, and none in a higher one', () => {
  expect(below(THEIRS)).toEqual([]);
  expect(below({ input: 5, output: 20, service_tiers: { own: { input: 0, output: 0 } } })).toEqual([]);
});

it('compares every kind that requests of a length or tier cost', () => {
  const above = [{ input_tokens: 300_000, input: 3, output: 15 }];
  const flex = { input: 0.5, output: 5 };
  expect(below({ input: 2, cached_input: 0.1, output: 10, above, service_tiers: { flex } })).toEqual([
    { field: 'cached_input', configured: 0.1, catalogue: 0.2 },
    { field: 'cache_write', configured: 2, catalogue: 2.5 },
    // Prices that are those of input in both tables are not named beside it.
    ...longer(272_000, { input: 2, cached_input: 0.1, output: 10 }),
    ...longer(300_000, { input: 3 }),
    { field: 'service_tiers.flex.input', configured: 0.5, catalogue: 1 },
  ]);
});

function longer(tokens: number, ours: Readonly<Record<string, number>>) {
  const expected: Readonly<Record<string, number>> = { output: 15 };
  return Object.entries(ours).map(([kind, configured]) => ({
    ...{ field: `above.${tokens}.${kind}`, configured, catalogue: expected[kind] ?? 4 },
  }));
}

it('compares no prices of prompts that the window excludes', () => {
  expect(below({ ...THEIRS, above: [] }, 272_000)).toEqual([]);
  expect(below({ ...THEIRS, above: [] }, 272_001)).toHaveLength(4);
});

it('compares writes for an hour only where the catalogue has them', () => {
  const theirs = { input: 1, cache_write_1h: 2, output: 1 };
  const ours = { input: 1, output: 1 };
  const differs = (configured: number, catalogue: number) => configured !== catalogue;
  expect(priceDifferences(ours, theirs, 100, differs)).toEqual([
    { field: 'cache_write_1h', configured: 1, catalogue: 2 },
  ]);
  expect(priceDifferences(theirs, ours, 100, differs)).toEqual([]);
});

it('names tiers that a table lacks; priority and fast are one', () => {
  const flex = { input: 1, output: 2 };
  const tiers = (names: readonly string[]) => ({
    ...flex,
    service_tiers: Object.fromEntries(names.map((name) => [name, flex])),
  });
  const missing = (ours: readonly string[], theirs: readonly string[]) =>
    missingTiers(tiers(ours), tiers(theirs)).map(({ field }) => field);
  expect(missingTiers(flex, THEIRS)).toEqual([
    { field: 'service_tiers.flex', configured: null, catalogue: 'input 1, output 5' },
  ]);
  expect(missing(['fast', 'flex'], ['flex', 'priority'])).toEqual([]);
  expect(missing(['priority'], ['fast', 'ultrafast'])).toEqual(['service_tiers.ultrafast']);
  expect(missing(['own'], [])).toEqual([]);
});

it('compares a tier with its twin', () => {
  const theirs = { input: 1, output: 1, service_tiers: { priority: { input: 2, output: 2 } } };
  const ours = { input: 1, output: 1, service_tiers: { fast: { input: 1.5, output: 2 } } };
  expect(priceDifferences(ours, theirs, 100, (configured, catalogue) => configured < catalogue)).toEqual([
    { field: 'service_tiers.fast.input', configured: 1.5, catalogue: 2 },
  ]);
});
