import { describe, expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { asksForLongPause, parseRetryAfterMs, retryDelayMs } from './provider-retry-after.ts';

const NOW_MS = Date.parse('2026-11-21T00:00:00Z');

describe('a Retry-After', () => {
  test.each([
    ['3', 3000],
    ['0', 0],
    ['0.25', 250],
    ['Sat, 21 Nov 2026 00:00:05 GMT', 5000],
    ['Fri, 20 Nov 2026 00:00:05 GMT', 0],
    ['soon', undefined],
    ['-1', 0],
    ['', undefined],
    [undefined, undefined],
  ])('of %s is %s ms', (value, expected) => {
    // A negative number reads as a year long past.
    const headOf = (date?: string) => ({ header: (name: string) => (name === 'date' ? date : value) });
    expect(parseRetryAfterMs(headOf(), NOW_MS)).toBe(expected);
    // The provider's clock counts, however wrong ours is.
    for (const aheadMs of [-DAY_MS, 300_000])
      expect(parseRetryAfterMs(headOf('Sat, 21 Nov 2026 00:00:00 GMT'), NOW_MS + aheadMs)).toBe(expected);
  });
});

describe('waiting between attempts', () => {
  test('grows up to two seconds, with half of it random', () => {
    expect([1, 2, 3, 20].map((failed) => retryDelayMs(failed, undefined, () => 0))).toEqual([50, 100, 200, 1000]);
    expect([1, 2, 3, 20].map((failed) => retryDelayMs(failed, undefined, () => 1))).toEqual([100, 200, 400, 2000]);
  });

  test('honours what the provider asks for, up to two seconds', () => {
    expect(retryDelayMs(1, 1500, () => 0)).toBe(1500);
    expect(retryDelayMs(1, 60_000, () => 0)).toBe(2000);
    expect([undefined, 2000, 2001].map(asksForLongPause)).toEqual([false, false, true]);
  });
});
