import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appliedPrices,
  chargeNanoUsd,
  flatTable,
  NO_PRICES,
  NO_USAGE,
  type Prices,
  type PriceTable,
  type PricingTerms,
  priced,
  type TierPrices,
  type TokenUsage,
  worstCaseNanoUsd,
} from './pricing.ts';

const price = fc.bigInt({ min: 0n, max: 10n ** 9n });
const prices: fc.Arbitrary<Prices> = fc.record({
  inputPicoUsd: price,
  cachedInputPicoUsd: price,
  cacheWritePicoUsd: price,
  cacheWrite1hPicoUsd: price,
  outputPicoUsd: price,
});
const THRESHOLDS = 400_000;
const tier: fc.Arbitrary<TierPrices> = fc.record({
  prices,
  above: fc
    .uniqueArray(fc.record({ inputTokens: fc.integer({ min: 1, max: THRESHOLDS }), prices }), {
      maxLength: 8,
      selector: ({ inputTokens }) => inputTokens,
    })
    .map((above) => above.toSorted((a, b) => a.inputTokens - b.inputTokens)),
});
const TIERS = ['flex', 'priority', 'scale'] as const;
const priceTable: fc.Arbitrary<PriceTable> = fc
  .tuple(tier, fc.subarray([...TIERS]), fc.array(tier, { minLength: 3, maxLength: 3 }))
  .map(([base, names, tiers]) => ({
    ...base,
    serviceTiers: new Map(names.map((name, index) => [name, tiers[index] ?? base])),
  }));
const tierName = fc.constantFrom(undefined, 'default', 'auto', 'unknown', ...TIERS);
const terms: fc.Arbitrary<PricingTerms> = fc.record({ priceTable, askedTier: tierName });

/** Prompts near a threshold are as likely as any. */
const tokens = fc.oneof(fc.integer({ min: 0, max: 2 * THRESHOLDS }), fc.integer({ min: 0, max: 20 }));
const share = fc.double({ min: 0, max: 1, noNaN: true });
const usage: fc.Arbitrary<TokenUsage> = fc
  .record({ promptTokens: tokens, completionTokens: tokens, cached: share, written: share, lasting: share })
  .map(({ promptTokens, completionTokens, cached, written, lasting }) => {
    const cachedTokens = Math.floor(promptTokens * cached);
    const cacheWriteTokens = Math.floor((promptTokens - cachedTokens) * written);
    const cacheWrite1hTokens = Math.floor(cacheWriteTokens * lasting);
    return { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens: 0 };
  });

/** A table for each tier, and the one that is charged by, in words of the price list. */
function independentCost(
  { priceTable: table, askedTier }: PricingTerms,
  used: TokenUsage,
  servedTier?: string,
): bigint {
  const byName: Record<string, TierPrices> = { default: table, ...Object.fromEntries(table.serviceTiers) };
  const known = [servedTier, askedTier, 'default'].filter((name) => name !== undefined && name in byName);
  const entry = byName[known[0] ?? 'default'] ?? table;
  let bill = entry.prices;
  for (const step of entry.above) if (used.promptTokens > step.inputTokens) bill = step.prices;
  const short = used.cacheWriteTokens - used.cacheWrite1hTokens;
  const fresh = used.promptTokens - used.cachedTokens - short - used.cacheWrite1hTokens;
  const lines: readonly (readonly [number, bigint])[] = [
    [fresh, bill.inputPicoUsd],
    [used.cachedTokens, bill.cachedInputPicoUsd],
    [short, bill.cacheWritePicoUsd],
    [used.cacheWrite1hTokens, bill.cacheWrite1hPicoUsd],
    [used.completionTokens, bill.outputPicoUsd],
  ];
  // Decimal text of the exact sum: its last three digits are below a nano-dollar.
  const pico = lines.reduce((sum, [count, each]) => sum + BigInt(count) * each, 0n).toString();
  const whole = BigInt(pico.slice(0, -3) || '0');
  return /[1-9]/.test(pico.slice(-3)) ? whole + 1n : whole;
}

describe('a charge', () => {
  it('is exact, rounded up once', () => {
    const mini = { ...NO_PRICES, inputPicoUsd: 250_000n, cachedInputPicoUsd: 25_000n, outputPicoUsd: 2_000_000n };
    const used = { ...NO_USAGE, promptTokens: 1001, completionTokens: 10, cachedTokens: 1000, reasoningTokens: 4 };
    // 250,000 + 25,000,000 + 20,000,000 pico-dollars
    expect(chargeNanoUsd(mini, used)).toBe(45_250n);
    expect(chargeNanoUsd({ ...NO_PRICES, inputPicoUsd: 1n }, used)).toBe(1n);
  });

  it('has each kind of input at its own price', () => {
    const each: Prices = {
      inputPicoUsd: 1_250_000n,
      cachedInputPicoUsd: 125_000n,
      cacheWritePicoUsd: 1_562_500n,
      cacheWrite1hPicoUsd: 2_500_000n,
      outputPicoUsd: 10_000_000n,
    };
    const used = {
      promptTokens: 100,
      completionTokens: 3,
      cachedTokens: 40,
      cacheWriteTokens: 30,
      cacheWrite1hTokens: 10,
    };
    // 30 x 1.25 + 40 x 0.125 + 20 x 1.5625 + 10 x 2.5 + 3 x 10, in micro-dollars
    expect(chargeNanoUsd(each, { ...used, reasoningTokens: 0 })).toBe(128_750n);
  });

  it('equals an independent calculation, for any table and usage', () => {
    fc.assert(
      fc.property(terms, usage, tierName, (asked, used, serviceTier) => {
        expect(priced(asked, { usage: used, serviceTier }).costNanoUsd).toBe(independentCost(asked, used, serviceTier));
      }),
    );
  });

  it('is what the prices that are kept with it say', () => {
    fc.assert(
      fc.property(terms, usage, tierName, (asked, used, serviceTier) => {
        const { costNanoUsd, prices: kept } = priced(asked, { usage: used, serviceTier });
        expect(chargeNanoUsd(kept, used)).toBe(costNanoUsd);
      }),
    );
  });

  it('never falls when more tokens of a kind are used at the same prices', () => {
    const kinds = fc.constantFrom('promptTokens', 'completionTokens');
    fc.assert(
      fc.property(prices, usage, kinds, tokens, (each, used, kind, more) => {
        expect(chargeNanoUsd(each, { ...used, [kind]: used[kind] + more }) >= chargeNanoUsd(each, used)).toBe(true);
      }),
    );
  });
});

describe('the entry that applies', () => {
  const at = (inputPicoUsd: bigint): Prices => ({ ...NO_PRICES, inputPicoUsd });
  const table: PriceTable = {
    prices: at(1n),
    above: [
      { inputTokens: 10, prices: at(2n) },
      { inputTokens: 20, prices: at(3n) },
    ],
    serviceTiers: new Map([
      ['flex', { prices: at(4n), above: [{ inputTokens: 10, prices: at(5n) }] }],
      ['priority', { prices: at(6n), above: [] }],
    ]),
  };

  it.each([
    [0, 1n, undefined],
    [10, 1n, undefined],
    [11, 2n, 10],
    [20, 2n, 10],
    [21, 3n, 20],
  ])('of %i prompt tokens is the last with fewer', (promptTokens, price, pricedAboveTokens) => {
    const applied = appliedPrices({ priceTable: table }, promptTokens);
    expect([applied.prices.inputPicoUsd, applied.pricedAboveTokens]).toEqual([price, pricedAboveTokens]);
  });

  it.each<[asked: string | undefined, served: string | undefined, price: bigint, tier: string | undefined]>([
    [undefined, undefined, 1n, undefined],
    ['flex', undefined, 4n, 'flex'],
    ['flex', 'priority', 6n, 'priority'],
    [undefined, 'priority', 6n, 'priority'],
    // The provider served and billed it as any other.
    ['priority', 'default', 1n, undefined],
    ['default', 'flex', 4n, 'flex'],
    // No tier of this model, and no tier at all.
    ['flex', 'scale', 4n, 'flex'],
    ['flex', 'auto', 4n, 'flex'],
    ['default', 'scale', 1n, undefined],
  ])('asked as %s and served as %s is of that tier', (askedTier, servedTier, price, tier) => {
    const applied = appliedPrices({ priceTable: table, askedTier }, 1, servedTier);
    expect([applied.prices.inputPicoUsd, applied.pricedTier]).toEqual([price, tier]);
  });
});

describe('the worst case', () => {
  it('is never below the charge of any usage within the limits, at the tier that was asked or the default one', () => {
    fc.assert(
      fc.property(terms, usage, tokens, tokens, fc.boolean(), (asked, used, moreInput, moreOutput, isDefault) => {
        const served = isDefault ? 'default' : asked.askedTier;
        const held = worstCaseNanoUsd(asked, used.promptTokens + moreInput, used.completionTokens + moreOutput);
        expect(held >= priced(asked, { usage: used, serviceTier: served }).costNanoUsd).toBe(true);
      }),
    );
  });

  it('never falls with a higher limit, and is reached', () => {
    fc.assert(
      fc.property(terms, tokens, tokens, tokens, tokens, (asked, input, output, moreInput, moreOutput) => {
        const held = worstCaseNanoUsd(asked, input, output);
        expect(worstCaseNanoUsd(asked, input + moreInput, output + moreOutput) >= held).toBe(true);
      }),
    );
    const each = {
      inputPicoUsd: 1000n,
      cachedInputPicoUsd: 2000n,
      cacheWritePicoUsd: 3000n,
      cacheWrite1hPicoUsd: 4000n,
    };
    const asked = { priceTable: flatTable({ ...each, outputPicoUsd: 5000n }) };
    expect(worstCaseNanoUsd(asked, 10, 100)).toBe(540n);
  });

  it('has only entries that the request can reach', () => {
    const at = (inputPicoUsd: bigint): Prices => ({ ...NO_PRICES, inputPicoUsd });
    const serviceTiers = new Map([['priority', { prices: at(9000n), above: [] }]]);
    const table = { prices: at(1000n), above: [{ inputTokens: 10, prices: at(2000n) }], serviceTiers };
    expect(worstCaseNanoUsd({ priceTable: table }, 10, 0)).toBe(10n);
    expect(worstCaseNanoUsd({ priceTable: table }, 11, 0)).toBe(22n);
    expect(worstCaseNanoUsd({ priceTable: table, askedTier: 'priority' }, 11, 0)).toBe(99n);
  });
});
