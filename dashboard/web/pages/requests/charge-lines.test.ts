import { describe, expect, it } from 'vitest';
import type { ChargeView } from '#contract/request-log.ts';
import { chargeLines, chargeSum } from './charge-lines.ts';

const charge = (change: Partial<ChargeView> = {}): ChargeView => ({
  usage: {
    promptTokens: 1_000,
    completionTokens: 7,
    cachedTokens: 600,
    cacheWriteTokens: 300,
    cacheWrite1hTokens: 100,
    reasoningTokens: 5,
  },
  usageCounted: false,
  prices: {
    inputPicoUsd: '1250000',
    cachedInputPicoUsd: '125000',
    cacheWritePicoUsd: '1562500',
    cacheWrite1hPicoUsd: '2500001',
    outputPicoUsd: '10000000',
  },
  costNanoUsd: '832501',
  holdNanoUsd: '900000',
  ...change,
});

describe('the breakdown of a charge', () => {
  it('counts each token once, at the price of its kind', () => {
    expect(chargeLines(charge())).toEqual([
      { kind: 'Uncached input', tokens: 100, picoUsd: '1250000', usd: '0.000125' },
      { kind: 'Cached input', tokens: 600, picoUsd: '125000', usd: '0.000075' },
      { kind: 'Cache writes, 5 min', tokens: 200, picoUsd: '1562500', usd: '0.0003125' },
      { kind: 'Cache writes, 1 h', tokens: 100, picoUsd: '2500001', usd: '0.0002500001' },
      { kind: 'Output', tokens: 7, picoUsd: '10000000', usd: '0.00007' },
    ]);
  });

  it('leaves out kinds without tokens', () => {
    const usage = { ...charge().usage, cachedTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
    expect(chargeLines(charge({ usage })).map(({ kind }) => kind)).toEqual(['Uncached input', 'Output']);
  });

  it('is rounded up once, over all kinds', () => {
    expect(chargeSum(charge())).toEqual({ usd: '0.0008325001', roundedNanoUsd: '832501', isRounded: true });
    const prices = { ...charge().prices, cacheWrite1hPicoUsd: '2500000' };
    expect(chargeSum(charge({ prices, costNanoUsd: '832500' }))).toEqual({
      ...{ usd: '0.0008325', roundedNanoUsd: '832500', isRounded: false },
    });
  });

  it('says what limited it', () => {
    expect(chargeSum(charge({ costNanoUsd: '800000', holdNanoUsd: '800000' })).cutTo).toBe('hold');
    expect(chargeSum(charge({ costNanoUsd: '700000', holdNanoUsd: '800000' })).cutTo).toBe('balance');
  });
});
