import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, formatSize, parseDuration, parsePrice, parseSize } from './quantities.ts';

describe('sizes', () => {
  test.each([
    ['20MiB', 20_971_520],
    ['64KB', 64_000],
    ['1048576', 1_048_576],
    [1_048_576, 1_048_576],
    ['2GiB', 2_147_483_648],
    ['7B', 7],
    ['0', 0],
  ])('%s is %i bytes', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each([
    '',
    'MiB',
    '1.5MiB',
    '-1',
    '1 MiB',
    '1mib',
    '1M',
    '1e3',
    '0x10',
    '9007199254740993',
    '9999999999GiB',
    1.5,
    -1,
    Number.NaN,
  ])('%s is refused', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });

  test('every size survives being written and read', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseSize(formatSize(bytes)) === bytes));
    fc.assert(
      fc.property(
        fc.nat(4000),
        fc.constantFrom(1000, 1024, 1000 ** 2, 1024 ** 2, 1024 ** 3),
        (n, unit) => parseSize(formatSize(n * unit)) === n * unit,
      ),
    );
  });
});

describe('durations', () => {
  test.each([
    ['250ms', 250],
    ['120s', 120_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', 's', '1.5s', '-1s', '1 s', '1S', '1min', '120', '999999999999d'])('%s is refused', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  test('every duration survives being written and read', () => {
    fc.assert(
      fc.property(
        fc.nat(999_999_999),
        fc.constantFrom(1, 1000, 60_000, 3_600_000),
        (n, unit) => parseDuration(formatDuration(n * unit)) === n * unit,
      ),
    );
  });
});

describe('prices', () => {
  test.each([
    [0.25, 250_000n],
    ['2.00', 2_000_000n],
    [0, 0n],
    [0.000001, 1n],
    [1_000_000, 1_000_000_000_000n],
    [0.1, 100_000n],
    [1.1, 1_100_000n],
  ])('%s USD per million tokens is %s pico-dollars per token', (price, picoUsd) => {
    expect(parsePrice(price)).toBe(picoUsd);
  });

  test.each([
    -1,
    0.0000001,
    1_000_000.000001,
    '1e3',
    '',
    '.5',
    '5.',
    '1,5',
    '$1',
    Number.POSITIVE_INFINITY,
    Number.NaN,
  ])('%s is refused', (price) => {
    expect(parsePrice(price)).toBeUndefined();
  });

  test('every price is read exactly, as text and as a YAML number', () => {
    fc.assert(
      fc.property(fc.nat(999_999), fc.nat(999_999), (usd, millionths) => {
        const text = `${usd}.${String(millionths).padStart(6, '0')}`;
        const picoUsd = BigInt(usd) * 1_000_000n + BigInt(millionths);
        return parsePrice(text) === picoUsd && parsePrice(Number(text)) === picoUsd;
      }),
    );
  });
});
