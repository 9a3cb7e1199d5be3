import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEY_SETTINGS, ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import {
  briefSettings,
  formatBytes,
  formatCompact,
  formatCount,
  formatDollars,
  formatDue,
  formatDuration,
  formatMoney,
  formatMoneyExactly,
  formatMoneyInFull,
  formatPercent,
  formatPricePerMillion,
  formatRelative,
  formatShortDate,
  formatUtc,
  shortMoney,
  utcDay,
  withoutGrouping,
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

it('shortens whole dollars', () => {
  const amounts = ['5000000000', '250000000', '1000000000000', '5500000000', '4200000'];
  expect(amounts.map(shortMoney)).toEqual(['$5', '$0.25', '$1,000', '$5.50', '$0.0042']);
});

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

const AT = Date.UTC(2026, 10, 21, 23, 30, 5);

describe('moments', () => {
  it('are exact in UTC', () => {
    expect(formatUtc(AT)).toBe('2026-11-21 23:30:05 UTC');
    expect(utcDay(AT)).toBe('2026-11-21');
  });

  it.each([
    [0, 'just now'],
    [-59_000, 'just now'],
    [30_000, 'in less than a minute'],
    [-60_000, '1 minute ago'],
    [-3_599_000, '59 minutes ago'],
    [-3 * 3_600_000, '3 hours ago'],
    [86_400_000, 'tomorrow'],
    [-45 * 86_400_000, 'last month'],
    [3 * 365 * 86_400_000, 'in 3 years'],
  ])('%i ms from now are %s', (offsetMs, text) => {
    expect(formatRelative(AT + offsetMs, AT)).toBe(text);
  });

  it.each([
    [-60_000, 'in less than a minute'],
    [0, 'in less than a minute'],
    [180_000, 'in 3 minutes'],
  ])('%i ms from now are still to come', (offsetMs, text) => {
    expect(formatDue(AT + offsetMs, AT)).toBe(text);
  });
});

describe('formatShortDate', () => {
  it('shows the year if it is another one', () => {
    expect(formatShortDate(Date.UTC(2026, 11, 3, 12), AT)).toBe('Dec 3');
    expect(formatShortDate(Date.UTC(2027, 1, 3, 12), AT)).toBe('Feb 3, 2027');
  });
});

it('lists the limits of an organization, without those that it lacks', () => {
  const least = { concurrency: 1, allowMultipleCompletions: false };
  expect(briefSettings(ORGANIZATION_SETTINGS, least)).toEqual(['1 request at once']);
  const limits = {
    requestsPerMinute: 600,
    tokensPerMinute: 2_000_000,
    dailyBudgetNanoUsd: '80000000000',
    maxTokens: 4096,
    concurrency: 8,
    allowMultipleCompletions: true,
  };
  expect(briefSettings(ORGANIZATION_SETTINGS, limits)).toEqual([
    '600 requests a minute',
    '2M tokens a minute',
    '8 requests at once',
    '$80 a day',
    '4,096 output tokens a request',
    'several completions a request',
  ]);
});

it('lists the limits of a key in words that fit a cell', () => {
  const limits = { requestsPerMinute: 60, dailyBudgetNanoUsd: '5000000000', lifetimeBudgetNanoUsd: '200500000000' };
  expect(briefSettings(KEY_SETTINGS, { name: 'a', ...limits })).toEqual(['60 rpm', '$5/day', '$200.50 in total']);
});
