import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatPico, formatUsd, MAX_AMOUNT_NANO_USD, parseUsd, usdJson, usdNumber } from './money.ts';

describe('amounts', () => {
  it('survive text both ways, to the nano-dollar', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -MAX_AMOUNT_NANO_USD, max: MAX_AMOUNT_NANO_USD }), (nano) => {
        expect(parseUsd(formatUsd(nano))).toBe(nano);
      }),
    );
  });

  it.each([
    ['12.5', 12_500_000_000n],
    ['-0.000000001', -1n],
    ['0', 0n],
    ['007', 7_000_000_000n],
  ])('reads %s', (text, nano) => {
    expect(parseUsd(text)).toBe(nano);
  });

  it.each(['', '.5', '5.', '1e3', '1,5', '0.0000000001', '1000000000.000000001', '+1', ' 1', '--1', 'NaN'])(
    'refuses %j',
    (text) => {
      expect(parseUsd(text)).toBeUndefined();
    },
  );

  it('become the JSON number that prints the same decimal, up to 15 digits', () => {
    expect(JSON.stringify(usdNumber(123_456_789_012_345n))).toBe('123456.789012345');
    expect(JSON.stringify(usdNumber(-1n))).toBe('-1e-9');
  });

  it('become a JSON number with all digits', () => {
    expect(JSON.stringify([987_654_321_123_456_789n, -1n, 0n, 12_500_000_000n].map(usdJson))).toBe(
      '[987654321.123456789,-1e-9,0,12.5]',
    );
  });
});

describe('formatPico', () => {
  it('is the exact decimal of a price for a token, without trailing zeros', () => {
    expect([0n, 1n, 250_000n, 2_000_000_000_000n].map(formatPico)).toEqual(['0', '0.000000000001', '0.00000025', '2']);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), (pico) => {
        const text = formatPico(pico);
        expect(text).toMatch(/^\d+(\.\d*[1-9])?$/);
        const [whole = '', fraction = ''] = text.split('.');
        expect(BigInt(whole + fraction.padEnd(12, '0'))).toBe(pico);
      }),
    );
  });
});
