import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COST, PRICES, USAGE } from '#test/fixtures/priced-usage.ts';
import {
  type AttemptTerms,
  billedNanoUsd,
  chargeNanoUsd,
  flatTable,
  NO_PRICES,
  NO_USAGE,
  type Prices,
  type PriceTable,
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
const TIERS = ['flex', 'priority', 'fast', 'scale'] as const;
const priceTable: fc.Arbitrary<PriceTable> = fc
  .tuple(tier, fc.subarray([...TIERS]), fc.array(tier, { minLength: 4, maxLength: 4 }))
  .map(([base, names, tiers]) => ({
    ...base,
    serviceTiers: new Map(names.map((name, index) => [name, tiers[index] ?? base])),
  }));
const tierName = fc.constantFrom(undefined, 'default', 'auto', 'standard', 'unknown', ...TIERS);
const terms: fc.Arbitrary<AttemptTerms> = fc.record({ priceTable, askedTier: tierName, sentTier: tierName });

/** Half of the prompts are tiny, because fast-check often draws tiny thresholds. */
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

/** The bill at a tier, in words of the price list. `undefined`: the list has no such tier. */
function billAt(table: PriceTable, name: string, used: TokenUsage): bigint | undefined {
  const list: Record<string, TierPrices> = { ...Object.fromEntries(table.serviceTiers) };
  list.priority ??= list.fast ?? (undefined as never);
  list.fast ??= list.priority;
  for (const word of ['default', 'auto', 'standard']) list[word] = table;
  const entry = list[name];
  if (entry === undefined) return undefined;
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
    expect(chargeNanoUsd(PRICES, USAGE)).toBe(COST);
  });

  it('equals an independent calculation, for any table, usage and tiers', () => {
    fc.assert(
      fc.property(terms, usage, tierName, (asked, used, serviceTier) => {
        const { priceTable: table, askedTier = 'default', sentTier = 'default' } = asked;
        const ordinary = billAt(table, 'default', used) ?? 0n;
        const twins = [askedTier, sentTier].every((name) => ['priority', 'fast'].includes(name));
        const hasBoth = table.serviceTiers.has('priority') && table.serviceTiers.has('fast');
        const wasSent = askedTier === sentTier || (twins && !hasBoth);
        const ofAttempt = (wasSent ? billAt(table, askedTier, used) : undefined) ?? ordinary;
        const ofServed = serviceTier === undefined ? undefined : billAt(table, serviceTier, used);
        const { costNanoUsd, tierLossNanoUsd = 0n } = priced(asked, { usage: used, serviceTier });
        expect(costNanoUsd).toBe(ofServed !== undefined && ofServed < ofAttempt ? ofServed : ofAttempt);
        // The charge and the loss together are the price of what was served.
        expect(costNanoUsd + tierLossNanoUsd).toBe(ofServed ?? ofAttempt);
      }),
    );
  });

  it('is never above the price at the tier that the target was asked for, whatever the response names', () => {
    fc.assert(
      fc.property(terms, usage, tierName, (asked, used, serviceTier) => {
        const named = priced(asked, { usage: used, serviceTier });
        expect(named.costNanoUsd <= priced(asked, { usage: used }).costNanoUsd).toBe(true);
      }),
    );
  });

  it('follows from the prices that are stored with it', () => {
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
  const at = (inputPicoUsd: bigint): Prices => ({ ...NO_PRICES, inputPicoUsd: inputPicoUsd * 1000n });
  const table: PriceTable = {
    prices: at(3n),
    above: [
      { inputTokens: 10, prices: at(4n) },
      { inputTokens: 20, prices: at(5n) },
    ],
    serviceTiers: new Map([
      ['flex', { prices: at(1n), above: [{ inputTokens: 10, prices: at(2n) }] }],
      ['priority', { prices: at(6n), above: [] }],
    ]),
  };
  const oneToken = { ...NO_USAGE, promptTokens: 1 };

  it.each([
    [0, 3n, undefined],
    [10, 3n, undefined],
    [11, 4n, 10],
    [20, 4n, 10],
    [21, 5n, 20],
  ])('of %i prompt tokens is the last with fewer', (promptTokens, price, pricedAboveTokens) => {
    const applied = priced({ priceTable: table }, { usage: { ...NO_USAGE, promptTokens } });
    expect([applied.prices.inputPicoUsd, applied.pricedAboveTokens]).toEqual([price * 1000n, pricedAboveTokens]);
  });

  /** The table of docs/interface.md. Prices: flex 1, default 3, priority 6. */
  it.each<[asked: string, sent: string, named: string, entry: string, loss: bigint]>([
    // The target was sent what the client asked for.
    ['-', '-', '-', 'default', 0n],
    ['-', '-', 'default', 'default', 0n],
    ['-', '-', 'flex', 'flex', 0n],
    ['-', '-', 'priority', 'default', 3n],
    ['default', 'default', 'priority', 'default', 3n],
    ['default', 'default', 'flex', 'flex', 0n],
    ['flex', 'flex', '-', 'flex', 0n],
    ['flex', 'flex', 'flex', 'flex', 0n],
    ['flex', 'flex', 'default', 'flex', 2n],
    ['flex', 'flex', 'standard', 'flex', 2n],
    ['flex', 'flex', 'on_demand', 'flex', 2n],
    ['flex', 'flex', 'auto', 'flex', 2n],
    ['flex', 'flex', 'priority', 'flex', 5n],
    ['priority', 'priority', '-', 'priority', 0n],
    ['priority', 'priority', 'priority', 'priority', 0n],
    ['priority', 'priority', 'default', 'default', 0n],
    ['priority', 'priority', 'standard', 'default', 0n],
    ['priority', 'priority', 'On-Demand', 'default', 0n],
    ['priority', 'priority', 'flex', 'flex', 0n],
    // A tier that the table does not know costs what was asked for.
    ['-', '-', 'turbo', 'default', 0n],
    ['flex', 'flex', 'turbo', 'flex', 0n],
    ['priority', 'priority', 'turbo', 'priority', 0n],
    // Twins: the table has one of the two.
    ['fast', 'fast', '-', 'priority', 0n],
    ['fast', 'fast', 'priority', 'priority', 0n],
    ['priority', 'priority', 'fast', 'priority', 0n],
    ['-', '-', 'fast', 'default', 3n],
    ['fast', 'fast', 'default', 'default', 0n],
    // The target's `request` drops or renames the field.
    ['flex', '-', '-', 'default', 0n],
    ['flex', '-', 'turbo', 'default', 0n],
    ['flex', '-', 'priority', 'default', 3n],
    ['flex', '-', 'flex', 'flex', 0n],
    ['priority', '-', '-', 'default', 0n],
    ['priority', '-', 'default', 'default', 0n],
    ['priority', '-', 'turbo', 'default', 0n],
    ['priority', '-', 'priority', 'default', 3n],
    // The target's `request` sets the field.
    ['-', 'priority', '-', 'default', 0n],
    ['-', 'priority', 'priority', 'default', 3n],
    ['flex', 'priority', 'priority', 'default', 3n],
    ['priority', 'flex', '-', 'default', 0n],
    ['priority', 'flex', 'flex', 'flex', 0n],
    ['priority', 'turbo', 'turbo', 'default', 0n],
  ])('asked %s, sent %s, named %s: %s, with a loss of %i', (asked, sent, named, entry, loss) => {
    const name = (tier: string) => (tier === '-' ? undefined : tier);
    const attempt = { priceTable: table, askedTier: name(asked), sentTier: name(sent) };
    const { pricedTier = 'default', tierLossNanoUsd = 0n } = priced(attempt, {
      usage: oneToken,
      serviceTier: name(named),
    });
    expect([pricedTier, tierLossNanoUsd]).toEqual([entry, loss]);
  });

  it('is of the twin itself where the table has both', () => {
    const serviceTiers = new Map([...table.serviceTiers, ['fast', { prices: at(9n), above: [] }] as const]);
    const both = { ...table, serviceTiers };
    for (const tier of ['fast', 'priority']) {
      const attempt = { priceTable: both, askedTier: tier, sentTier: tier };
      expect(priced(attempt, { usage: oneToken }).pricedTier).toBe(tier);
    }
    const fast = { priceTable: both, askedTier: 'fast', sentTier: 'fast' };
    expect(priced(fast, { usage: oneToken, serviceTier: 'priority' }).pricedTier).toBe('priority');
    expect(worstCaseNanoUsd({ priceTable: both, askedTier: 'fast' }, 1, 0)).toBe(9n);
  });

  it('of a bill is of the tier that served, else of the one that was sent, whoever chose it', () => {
    const bill = (sent: string | undefined, named?: string) =>
      billedNanoUsd(table, sent, { usage: oneToken, serviceTier: named });
    expect([bill(undefined), bill('flex'), bill('fast'), bill('turbo')]).toEqual([3n, 1n, 6n, 3n]);
    expect([bill('flex', 'standard'), bill(undefined, 'priority'), bill('flex', 'turbo')]).toEqual([3n, 6n, 1n]);
  });
});

describe('the worst case', () => {
  it('is never below the charge of any usage within the limits, whatever was sent and served', () => {
    fc.assert(
      fc.property(terms, usage, tokens, tokens, tierName, (asked, used, moreInput, moreOutput, serviceTier) => {
        const held = worstCaseNanoUsd(asked, used.promptTokens + moreInput, used.completionTokens + moreOutput);
        expect(held >= priced(asked, { usage: used, serviceTier }).costNanoUsd).toBe(true);
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
