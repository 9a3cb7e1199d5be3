import fc from 'fast-check';
import { expect, it } from 'vitest';
import { percentileMs } from './explore-view.ts';

const BOUNDS_MS = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];
const bucketOf = (ms: number) => BOUNDS_MS.filter((bound) => ms > bound).length;

it('is in the bucket of the true percentile', () => {
  const times = fc.array(fc.integer({ min: 1, max: 25_600 }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95), (all, fraction) => {
      const buckets = Array<number>(11).fill(0);
      for (const ms of all) buckets[bucketOf(ms)] = (buckets[bucketOf(ms)] ?? 0) + 1;
      const sorted = all.toSorted((a, b) => a - b);
      const truth = sorted[Math.ceil(all.length * fraction) - 1] ?? 0;
      const found = percentileMs(buckets, fraction) ?? Number.NaN;
      const lower = BOUNDS_MS[bucketOf(truth) - 1] ?? 0;
      expect(found).toBeGreaterThanOrEqual(lower);
      expect(found).toBeLessThanOrEqual(BOUNDS_MS[bucketOf(truth)] ?? 0);
    }),
  );
});

it('assumes that times are spread evenly within a bucket', () => {
  expect(percentileMs([0, 0, 10], 0.5)).toBe(150);
  expect(percentileMs([10, 0, 10], 0.95)).toBe(190);
});

it('is the last bound for times beyond it, and absent without counts', () => {
  expect(percentileMs([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99], 0.95)).toBe(25_600);
  expect(percentileMs([], 0.5)).toBeUndefined();
  expect(percentileMs(Array(11).fill(0), 0.5)).toBeUndefined();
});
