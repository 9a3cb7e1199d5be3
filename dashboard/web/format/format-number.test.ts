import { describe, expect, it } from 'vitest';
import { formatBytes, formatCompact, formatCount, formatDuration, formatPercent, withoutGrouping } from './format.ts';

describe('numbers', () => {
  it('are whole below ten thousand, and shortened from there on', () => {
    expect([0, 9999, 10_000, 12_345, 1_234_567, -12_345].map(formatCompact)).toEqual([
      '0',
      '9,999',
      '10K',
      '12.3K',
      '1.23M',
      '-12.3K',
    ]);
    expect(formatCount(1_234_567)).toBe('1,234,567');
  });

  it('that are shares have one decimal', () => {
    expect([0, 0.0042, 0.5, 1, -2].map(formatPercent)).toEqual(['0%', '0.4%', '50%', '100%', '−200%']);
  });

  it('that are durations choose their unit', () => {
    const cases: [number, string][] = [
      [0, '0 ms'],
      [999, '999 ms'],
      [1240, '1.24 s'],
      [12_340, '12.3 s'],
      [125_000, '2 min 5 s'],
      [3_600_000, '1 h 0 min'],
      [3 * 86_400_000, '3 d 0 h'],
    ];
    for (const [milliseconds, text] of cases) expect(formatDuration(milliseconds)).toBe(text);
  });

  it('that are bytes choose their unit', () => {
    expect([0, 1023, 1024, 1_610_612_736, 5e12].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '1.5 GiB',
      '4.5 TiB',
    ]);
  });
});

it.each([
  ['1,500', '1500'],
  ['$1,234,567.89', '1234567.89'],
  ['−2,500.5', '-2500.5'],
  ['10 000', '10000'],
  ['12.50', '12.50'],
])('reads %s as %s', (text, digits) => {
  expect(withoutGrouping(text)).toBe(digits);
});

it.each(['1,5', '1.500,00', '1,50', '12,3456', '1234,567', '0,000,1'])(
  'leaves the comma of %s, which no number has',
  (text) => {
    expect(withoutGrouping(text)).toContain(',');
  },
);
