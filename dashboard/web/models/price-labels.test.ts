import { expect, it } from 'vitest';
import type { PricesJson } from '#core/price-table-text.ts';
import { distinctPrices, priceEntries, priceEntryLabel } from './model-labels.ts';

const pricesOf = (picoUsd: string): PricesJson => ({
  inputPicoUsd: picoUsd,
  cachedInputPicoUsd: picoUsd,
  cacheWritePicoUsd: picoUsd,
  cacheWrite1hPicoUsd: picoUsd,
  outputPicoUsd: picoUsd,
});

it('lists every price entry: the default tier, its long prompts, and those of each tier', () => {
  const entries = priceEntries({
    prices: pricesOf('1'),
    above: [
      { inputTokens: 200_000, prices: pricesOf('2') },
      { inputTokens: 500_000, prices: pricesOf('3') },
    ],
    serviceTiers: { flex: { prices: pricesOf('4'), above: [{ inputTokens: 200_000, prices: pricesOf('5') }] } },
  });
  expect(entries.map(({ label, prices }) => [label, prices.outputPicoUsd])).toEqual([
    ['Base prices', '1'],
    ['Prompts above 200,000 tokens', '2'],
    ['Prompts above 500,000 tokens', '3'],
    ['Service tier flex', '4'],
    ['Service tier flex, prompts above 200,000 tokens', '5'],
  ]);
});

it('names the entry of a charge like that of the model', () => {
  expect(priceEntryLabel('flex', 200_000)).toBe('Service tier flex, prompts above 200,000 tokens');
});

it('shows no price that equals its fallback', () => {
  const ofOne = (changes: Partial<PricesJson>) => {
    const prices = { ...pricesOf('1'), ...changes };
    return distinctPrices([
      { label: '', prices: pricesOf('2') },
      { label: '', prices },
    ]);
  };
  expect(ofOne({})).toEqual(['inputPicoUsd', 'outputPicoUsd']);
  expect(ofOne({ cachedInputPicoUsd: '0' })).toEqual(['inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd']);
  expect(ofOne({ cacheWritePicoUsd: '3', cacheWrite1hPicoUsd: '3' })).not.toContain('cacheWrite1hPicoUsd');
  expect(ofOne({ cacheWritePicoUsd: '3' })).toContain('cacheWrite1hPicoUsd');
});
