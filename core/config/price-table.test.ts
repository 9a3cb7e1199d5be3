import { expect, it } from 'vitest';
import { NO_PRICES } from '../pricing.ts';
import type { Model } from './gateway-config.ts';
import { configFolder, oneModel } from './load.fixture.ts';

const folder = configFolder();

async function modelOf(prices: string, cost = ''): Promise<Model> {
  const text = oneModel(`[{provider: p, model: x${cost}}]`, '  p: {base_url: http://127.0.0.1:9/}').replace(
    /usd_per_million_tokens: \{[^}]*\}/,
    `usd_per_million_tokens: ${prices}`,
  );
  const model = (await folder.loaded(text)).config.models.get('m');
  if (model === undefined) throw new Error('there is no model');
  return model;
}

/** Prices in USD per million tokens, in the order of the configuration. */
function entry(input: number, cached: number, write: number, write1h: number, output: number) {
  const pico = (usd: number) => BigInt(usd * 1_000_000);
  return {
    inputPicoUsd: pico(input),
    cachedInputPicoUsd: pico(cached),
    cacheWritePicoUsd: pico(write),
    cacheWrite1hPicoUsd: pico(write1h),
    outputPicoUsd: pico(output),
  };
}

it('has everything that was configured', async () => {
  const table = `{input: 1.25, cached_input: 0.125, cache_write: 1.5625, cache_write_1h: 2.5, output: 10,
    above: [{input_tokens: 272000, input: 2.5, cached_input: 0.25, cache_write: 3.125, cache_write_1h: 5, output: 15}],
    service_tiers: {flex: {input: 0.5, output: 5}, priority: {input: 2.5, output: 20, above: [{input_tokens: 9, input: 3, output: 21}]}}}`;
  const { priceTable } = await modelOf(table);
  const serviceTiers = new Map([
    ['flex', { prices: entry(0.5, 0.5, 0.5, 0.5, 5), above: [] }],
    ['priority', { prices: entry(2.5, 2.5, 2.5, 2.5, 20), above: [{ inputTokens: 9, prices: entry(3, 3, 3, 3, 21) }] }],
  ]);
  expect(priceTable).toEqual({
    prices: entry(1.25, 0.125, 1.5625, 2.5, 10),
    above: [{ inputTokens: 272_000, prices: entry(2.5, 0.25, 3.125, 5, 15) }],
    serviceTiers,
    cacheWrites: 'long',
  });
});

it.each([
  ['{input: 4, output: 8}', entry(4, 4, 4, 4, 8), undefined],
  ['{input: 4, cached_input: 1, output: 8}', entry(4, 1, 4, 4, 8), undefined],
  ['{input: 4, cache_write: 5, output: 8}', entry(4, 4, 5, 5, 8), 'short'],
  ['{input: 4, cache_write_1h: 6, output: 8}', entry(4, 4, 4, 6, 8), 'long'],
  ['{input: 0, cache_write: 0, output: 0}', NO_PRICES, 'short'],
])('has in %s the kinds that are not given at the price of what they are part of', async (given, prices, writes) => {
  const model = await modelOf(given);
  expect(model.priceTable.prices).toEqual(prices);
  expect(model.priceTable.cacheWrites).toBe(writes);
});

it('has prices of cache writes of any entry', async () => {
  const above = await modelOf('{input: 1, output: 1, above: [{input_tokens: 5, input: 1, cache_write: 2, output: 1}]}');
  expect(above.priceTable.cacheWrites).toBe('short');
  const tier = await modelOf('{input: 1, output: 1, service_tiers: {flex: {input: 1, cache_write: 2, output: 1}}}');
  expect(tier.priceTable.cacheWrites).toBe('short');
});

it('is of the same form as the cost of a target', async () => {
  const { targets } = await modelOf(
    '{input: 2, output: 2}',
    ', cost_usd_per_million_tokens: {input: 1, output: 2, above: [{input_tokens: 7, input: 3, output: 4}]}',
  );
  expect(targets[0]?.costTable).toEqual({
    prices: entry(1, 1, 1, 1, 2),
    above: [{ inputTokens: 7, prices: entry(3, 3, 3, 3, 4) }],
    serviceTiers: new Map(),
  });
  expect((await modelOf('{input: 2, output: 2}')).targets[0]).not.toHaveProperty('costTable');
});
