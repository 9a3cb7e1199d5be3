import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModelView } from '#contract/money.ts';
import type { TableJson } from '#core/price-table-text.ts';
import { tableIn } from '#core/price-table-text.ts';
import { worstCaseNanoUsd } from '#core/pricing.ts';
import { SMALL_INPUT_TOKENS, shortenedOutputs } from './affordable-outputs.ts';

const tableOf = (inputPicoUsd: string, outputPicoUsd: string): TableJson => ({
  prices: {
    inputPicoUsd,
    cachedInputPicoUsd: inputPicoUsd,
    cacheWritePicoUsd: inputPicoUsd,
    cacheWrite1hPicoUsd: inputPicoUsd,
    outputPicoUsd,
  },
  above: [],
  serviceTiers: {},
});
const modelOf = (id: string, more: Partial<ModelView> = {}): ModelView => ({
  id,
  capabilities: [],
  reasoningEfforts: [],
  contextWindow: 100_000,
  maxOutputTokens: 8_000,
  defaultOutputTokens: 4_000,
  takesTemperature: true,
  priceTable: tableOf('1000000', '10000000'),
  priceChanges: [],
  priceWindows: [],
  state: 'available',
  ...more,
});

describe('output limits that a balance pays for', () => {
  it.each([
    // 1,000 input tokens cost 1,000,000 nano-dollars, an output token 10,000.
    [81_000_000n, []],
    [80_999_999n, [7_999]],
    [1_010_000n, [1]],
    [1_009_999n, [0]],
    [-5n, [0]],
  ])('of %i nano-dollars are %j', (available, limits) => {
    const outputs = shortenedOutputs([modelOf('a')], available, undefined);
    expect(outputs.map(({ outputTokens }) => outputTokens)).toEqual(limits);
  });

  it('begin with the shortest, and include only available models', () => {
    const models = [
      modelOf('cheap', { priceTable: tableOf('1000', '1000') }),
      modelOf('dear', { priceTable: tableOf('1000000', '20000000') }),
      modelOf('off', { state: 'disabled' }),
      modelOf('a'),
    ];
    const outputs = shortenedOutputs(models, 11_000_000n, undefined);
    expect(outputs).toEqual([
      { model: 'dear', outputTokens: 500, mostOutputTokens: 8_000, neededNanoUsd: '161000000' },
      { model: 'a', outputTokens: 1_000, mostOutputTokens: 8_000, neededNanoUsd: '81000000' },
    ]);
  });

  it('are at most the limit of the organization', () => {
    expect(shortenedOutputs([modelOf('a')], 11_000_000n, 1_000)).toEqual([]);
    expect(shortenedOutputs([modelOf('a')], 11_000_000n, 1_001)).toMatchObject([{ mostOutputTokens: 1_001 }]);
  });

  it('are the largest that the admission accepts', () => {
    const price = fc.bigInt({ min: 0n, max: 100_000_000n }).map(String);
    fc.assert(
      fc.property(price, price, fc.bigInt({ min: 0n, max: 1_000_000_000n }), (input, output, available) => {
        const priceTable = tableOf(input, output);
        const [found] = shortenedOutputs([modelOf('a', { priceTable })], available, undefined);
        const costs = (tokens: number) =>
          worstCaseNanoUsd({ priceTable: tableIn(priceTable) }, SMALL_INPUT_TOKENS, tokens);
        const limit = found?.outputTokens ?? 8_000;
        if (limit > 0) expect(costs(limit)).toBeLessThanOrEqual(available);
        if (limit < 8_000) expect(costs(limit + 1)).toBeGreaterThan(available);
      }),
    );
  });
});
