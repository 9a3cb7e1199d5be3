import { expect, test } from 'vitest';
import { backOffMs } from './back-off.ts';

const GROWTH = { firstMs: 100, longestMs: 2_000 };

test('delays double from the first to the longest', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map((failures) => backOffMs(failures, GROWTH))).toEqual([
    100, 200, 400, 800, 1_600, 2_000, 2_000,
  ]);
});

test('the delay stays the longest after any number of failures', () => {
  for (const failures of [31, 1_100, Number.MAX_SAFE_INTEGER]) expect(backOffMs(failures, GROWTH)).toBe(2_000);
});

test('the random share shortens a delay, by its share at most', () => {
  const halfRandom = { ...GROWTH, jitter: 0.5 };
  expect(backOffMs(20, halfRandom, () => 0)).toBe(1_000);
  expect(backOffMs(20, halfRandom, () => 1)).toBe(2_000);
  expect(backOffMs(20, { ...GROWTH, jitter: 0.25 }, () => 0.5)).toBe(1_750);
});
