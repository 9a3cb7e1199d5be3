import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatUsd, MAX_AMOUNT_NANO_USD, parseUsd, usdNumber } from './money.ts';

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
});
