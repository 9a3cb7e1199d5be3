import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chargeNanoUsd, type Prices, type TokenUsage, worstCaseNanoUsd } from './pricing.ts';

const price = fc.bigInt({ min: 0n, max: 10n ** 9n });
const prices: fc.Arbitrary<Prices> = fc.record({
  inputPicoUsd: price,
  cachedInputPicoUsd: price,
  outputPicoUsd: price,
});
const tokens = fc.integer({ min: 0, max: 10_000_000 });
const usage: fc.Arbitrary<TokenUsage> = fc
  .record({ promptTokens: tokens, completionTokens: tokens, cachedShare: fc.double({ min: 0, max: 1, noNaN: true }) })
  .map(({ promptTokens, completionTokens, cachedShare }) => ({
    promptTokens,
    completionTokens,
    cachedTokens: Math.floor(promptTokens * cachedShare),
    reasoningTokens: 0,
  }));

describe('prices', () => {
  it('are charged exactly, rounded up once', () => {
    const mini: Prices = { inputPicoUsd: 250_000n, cachedInputPicoUsd: 25_000n, outputPicoUsd: 2_000_000n };
    const used = { promptTokens: 1001, completionTokens: 10, cachedTokens: 1000, reasoningTokens: 4 };
    // 250,000 + 25,000,000 + 20,000,000 pico-dollars
    expect(chargeNanoUsd(mini, used)).toBe(45_250n);
    expect(chargeNanoUsd({ ...mini, inputPicoUsd: 1n, cachedInputPicoUsd: 0n, outputPicoUsd: 0n }, used)).toBe(1n);
  });

  it('round by less than one nano-dollar, never down', () => {
    fc.assert(
      fc.property(prices, usage, (p, u) => {
        const pico =
          BigInt(u.promptTokens - u.cachedTokens) * p.inputPicoUsd +
          BigInt(u.cachedTokens) * p.cachedInputPicoUsd +
          BigInt(u.completionTokens) * p.outputPicoUsd;
        const above = chargeNanoUsd(p, u) * 1000n - pico;
        expect(above >= 0n && above < 1000n).toBe(true);
      }),
    );
  });

  it('never charge more than the worst case that was held for the same tokens', () => {
    fc.assert(
      fc.property(prices, usage, (p, u) => {
        expect(chargeNanoUsd(p, u) <= worstCaseNanoUsd(p, u.promptTokens, u.completionTokens)).toBe(true);
      }),
    );
  });
});
