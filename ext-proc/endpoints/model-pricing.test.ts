import { expect, it } from 'vitest';
import { flatTable } from '../../core/pricing.ts';
import { modelPricing } from './model-pricing.ts';

const PRICES = {
  inputPicoUsd: 1_250_000n,
  cachedInputPicoUsd: 125_000n,
  cacheWritePicoUsd: 1_562_500n,
  cacheWrite1hPicoUsd: 2_500_000n,
  outputPicoUsd: 10_000_000n,
};
const SHOWN = { input: 1.25, cached_input: 0.125, cache_write: 1.5625, cache_write_1h: 2.5, output: 10 };
const PER_TOKEN = {
  prompt: '0.00000125',
  completion: '0.00001',
  input_cache_read: '0.000000125',
  input_cache_write: '0.0000015625',
};

it('has the members of the configuration, and those that clients read', () => {
  expect(modelPricing(flatTable(PRICES))).toEqual({ ...SHOWN, above: [], service_tiers: {}, ...PER_TOKEN });
});

it('has every entry of the table', () => {
  const above = [{ inputTokens: 272_000, prices: { ...PRICES, inputPicoUsd: 1n } }];
  const table = { prices: PRICES, above, serviceTiers: new Map([['flex', { prices: PRICES, above }]]) };
  const shown = [{ ...SHOWN, input_tokens: 272_000, input: 0.000001 }];
  expect(modelPricing(table)).toEqual({
    ...{ ...SHOWN, above: shown, ...PER_TOKEN },
    service_tiers: { flex: { ...SHOWN, above: shown } },
  });
});
