import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatDollars,
  formatMoney,
  formatMoneyExactly,
  formatMoneyInFull,
  formatPricePerMillion,
  shortMoney,
} from './format.ts';

it('shows booked amounts in full: every digit, and at least cents', () => {
  expect(formatMoneyInFull('-7500000000')).toBe('−$7.50');
  expect(formatMoneyInFull('100000000000')).toBe('$100.00');
  expect(formatMoneyInFull('-1234567000000000')).toBe('−$1,234,567.00');
  expect(formatMoneyInFull('1000000001')).toBe('$1.000000001');
});

describe('amounts', () => {
  it.each([
    ['0', '$0.00'],
    ['1', '$0.000000001'],
    ['123', '$0.00000012'],
    ['4200001', '$0.0042'],
    ['10000000', '$0.01'],
    ['99600000', '$0.10'],
    ['250000000', '$0.25'],
    ['999999999', '$1.00'],
    ['1000000000', '$1.00'],
    ['1234567890123', '$1,234.57'],
    ['-4200001', '−$0.0042'],
    ['-12500000000', '−$12.50'],
    ['9007199254740993000000000', '$9,007,199,254,740,993.00'],
  ])('of %s nano-dollars read %s', (nanoUsd, text) => {
    expect(formatMoney(nanoUsd)).toBe(text);
  });

  it('are off by a twentieth at most, and never zero unless the amount is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 18n }), (nano) => {
        const shown = Number(formatMoney(nano.toString()).replaceAll(/[$,]/g, ''));
        const real = Number(nano) / 1e9;
        expect(Math.abs(shown - real)).toBeLessThanOrEqual(Math.max(real / 20, real >= 1 ? 0.005 + real * 1e-12 : 0));
        expect(shown).toBeGreaterThan(0);
      }),
    );
  });

  it('are exact if requested', () => {
    expect(formatMoneyExactly('4200001')).toBe('$0.004200001');
    expect(formatMoneyExactly('-12500000000')).toBe('−$12.5');
  });

  it('come from charts as numbers of dollars, and from prices as pico-dollars per token', () => {
    expect(formatDollars(12.5)).toBe('$12.50');
    expect(formatDollars(0.0042)).toBe('$0.0042');
    // Labels of an axis: all of them have the decimals of its step.
    expect([0, 0.025, 0.05, 0.1, 0.125].map((value) => formatDollars(value, 0.025))).toEqual([
      '$0.000',
      '$0.025',
      '$0.050',
      '$0.100',
      '$0.125',
    ]);
    expect([-0.3, 0.3, 1200].map((value) => formatDollars(value, 0.1 + 0.2))).toEqual(['−$0.30', '$0.30', '$1,200.00']);
    // 0.25 USD per million tokens are 250,000 pico-dollars per token.
    expect(formatPricePerMillion('250000')).toBe('$0.25');
  });
});

describe('shortMoney', () => {
  it.each([
    ['5000000000', '$5'],
    ['250000000', '$0.25'],
    ['1000000000000', '$1,000'],
    ['5500000000', '$5.50'],
    ['4200000', '$0.0042'],
  ])('writes %s as %s', (nanoUsd, text) => {
    expect(shortMoney(nanoUsd)).toBe(text);
  });
});
