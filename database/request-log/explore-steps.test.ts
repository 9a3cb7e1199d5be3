import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#core/clock.ts';
import { stepsBefore, stepsOf } from './explore-steps.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 13, 30);

it.each([
  [15 * MINUTE_MS, MINUTE_MS, MINUTE_MS],
  [HOUR_MS, MINUTE_MS, MINUTE_MS],
  [6 * HOUR_MS, MINUTE_MS, 5 * MINUTE_MS],
  [DAY_MS, MINUTE_MS, 15 * MINUTE_MS],
  [DAY_MS, HOUR_MS, HOUR_MS],
  [7 * DAY_MS, MINUTE_MS, 2 * HOUR_MS],
  [30 * DAY_MS, MINUTE_MS, DAY_MS],
  [365 * DAY_MS, MINUTE_MS, DAY_MS],
])('a range of %i ms with steps of at least %i ms has steps of %i ms', (rangeMs, finestMs, stepMs) => {
  expect(stepsOf(NOW_MS - rangeMs, NOW_MS, finestMs).stepMs).toBe(stepMs);
});

it('covers the range and the one before with whole steps', () => {
  fc.assert(
    fc.property(fc.integer({ min: MINUTE_MS, max: 400 * DAY_MS }), fc.nat(DAY_MS), (rangeMs, laterMs) => {
      const [fromMs, toMs] = [NOW_MS + laterMs - rangeMs, NOW_MS + laterMs];
      const { stepMs, startsMs, endMs } = stepsOf(fromMs, toMs, MINUTE_MS);
      const [startMs = 0] = startsMs;
      expect(startMs % stepMs).toBe(0);
      expect(startMs).toBeLessThanOrEqual(fromMs);
      expect(fromMs - startMs).toBeLessThan(stepMs);
      expect(endMs).toBeGreaterThanOrEqual(toMs);
      expect(endMs - toMs).toBeLessThan(stepMs);
      expect(startsMs.length).toBeLessThanOrEqual(stepMs === DAY_MS ? 402 : 121);
      const before = stepsBefore({ stepMs, startsMs, endMs });
      expect([before.endMs, before.startsMs.length]).toEqual([startMs, startsMs.length]);
    }),
  );
});
