import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseUsd } from '../../../ext-proc/domain/money.ts';
import { formatMoney, formatMoneyExactly, formatPricePerMillion } from './format-money.ts';

describe('formatMoney', () => {
  it.each([
    ['0', '$0.00'],
    ['1234500000000', '$1,234.50'],
    ['4200001', '$0.0042'],
    ['1', '$0.000000001'],
    ['995000000', '$1.00'],
    ['999999999', '$1.00'],
    ['-2500000000', '−$2.50'],
  ])('writes %s as %s', (nanoUsd, text) => {
    expect(formatMoney(nanoUsd)).toBe(text);
  });
});

describe('formatMoneyExactly', () => {
  it('keeps every digit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (nano) => {
        const text = formatMoneyExactly(nano.toString());
        expect(parseUsd(text.replace('$', '').replace('−', '-'))).toBe(nano);
      }),
    );
  });
});

describe('formatPricePerMillion', () => {
  it.each([
    ['0', '$0.00'],
    ['250000', '$0.25'],
    ['125000', '$0.125'],
    ['1', '$0.000001'],
    ['1250000000', '$1,250.00'],
    ['2505000', '$2.505'],
  ])('writes %s as %s', (picoUsd, text) => {
    expect(formatPricePerMillion(picoUsd)).toBe(text);
  });
});
