import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changedByPercent, changesBetween, type PriceSchedule, type PriceWindow, tableAt } from './price-schedule.ts';
import { flatTable, NO_PRICES, type PriceTable } from './pricing.ts';

const DAY_MS = 86_400_000;
const EVERY_DAY = new Set([0, 1, 2, 3, 4, 5, 6]);

function table(outputPicoUsd: bigint): PriceTable {
  return flatTable({ ...NO_PRICES, outputPicoUsd });
}
const BASE = table(1n);
const WINDOW = table(2n);
const LATER = table(3n);

function withWindow(window: Partial<PriceWindow>): PriceSchedule {
  const whole = { startMinute: 0, endMinute: 1440, weekdays: EVERY_DAY, exceptDays: new Set<number>(), table: WINDOW };
  return { periods: [{ fromMs: Number.NEGATIVE_INFINITY, table: BASE, windows: [{ ...whole, ...window }] }] };
}

const at = (instant: string) => Date.parse(instant);
const dayOf = (date: string) => at(`${date}T00:00:00Z`) / DAY_MS;

describe('periods', () => {
  const schedule: PriceSchedule = {
    periods: [
      { fromMs: Number.NEGATIVE_INFINITY, table: BASE, windows: [] },
      { fromMs: at('2026-12-01T00:00:00Z'), table: LATER, windows: [] },
    ],
  };

  test('a table holds from its first millisecond on', () => {
    expect(tableAt(schedule, at('2026-11-30T23:59:59.999Z'))).toBe(BASE);
    expect(tableAt(schedule, at('2026-12-01T00:00:00.000Z'))).toBe(LATER);
  });

  test('a change is listed while it is ahead', () => {
    const [before, after] = [at('2026-11-01T00:00:00Z'), at('2026-12-01T00:00:00Z')];
    expect(changesBetween(schedule, before, after).map((period) => period.table)).toEqual([LATER]);
    expect(changesBetween(schedule, after, after + 90 * DAY_MS)).toEqual([]);
    expect(changesBetween(schedule, before, after - 1)).toEqual([]);
  });
});

describe('windows', () => {
  test('the start is included, the end is not', () => {
    const schedule = withWindow({ startMinute: 60, endMinute: 240 });
    expect(tableAt(schedule, at('2026-11-24T00:59:59.999Z'))).toBe(BASE);
    expect(tableAt(schedule, at('2026-11-24T01:00:00Z'))).toBe(WINDOW);
    expect(tableAt(schedule, at('2026-11-24T03:59:59.999Z'))).toBe(WINDOW);
    expect(tableAt(schedule, at('2026-11-24T04:00:00Z'))).toBe(BASE);
  });

  test('a window that passes midnight belongs to the day on which it begins', () => {
    // 2026-11-27 is a Friday.
    const friday = withWindow({ startMinute: 990, endMinute: 30, weekdays: new Set([5]) });
    expect(tableAt(friday, at('2026-11-27T00:10:00Z'))).toBe(BASE);
    expect(tableAt(friday, at('2026-11-27T16:30:00Z'))).toBe(WINDOW);
    expect(tableAt(friday, at('2026-11-28T00:29:59Z'))).toBe(WINDOW);
    expect(tableAt(friday, at('2026-11-28T00:30:00Z'))).toBe(BASE);
  });

  test('an excepted day has no window, even after its midnight', () => {
    const schedule = withWindow({ startMinute: 990, endMinute: 30, exceptDays: new Set([dayOf('2026-10-01')]) });
    expect(tableAt(schedule, at('2026-10-01T00:10:00Z'))).toBe(WINDOW);
    expect(tableAt(schedule, at('2026-10-01T20:00:00Z'))).toBe(BASE);
    expect(tableAt(schedule, at('2026-10-02T00:10:00Z'))).toBe(BASE);
    expect(tableAt(schedule, at('2026-10-02T20:00:00Z'))).toBe(WINDOW);
  });

  test('they agree with minutes that are counted one by one', () => {
    const minute = fc.integer({ min: 0, max: 1439 });
    const weekdays = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 });
    const instant = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2028-01-01T00:00:00Z') });
    fc.assert(
      fc.property(minute, minute, weekdays, instant, (startMinute, endMinute, days, atMs) => {
        fc.pre(startMinute !== endMinute);
        const schedule = withWindow({ startMinute, endMinute, weekdays: new Set(days) });
        // Walks back to the minute at which a window may have begun.
        let begin = new Date(Math.floor(atMs / 60_000) * 60_000);
        const length = (endMinute - startMinute + 1440) % 1440;
        let inside = false;
        for (let back = 0; back < length; back += 1) {
          const ofDay = begin.getUTCHours() * 60 + begin.getUTCMinutes();
          if (ofDay === startMinute && days.includes(begin.getUTCDay())) inside = true;
          begin = new Date(begin.getTime() - 60_000);
        }
        expect(tableAt(schedule, atMs)).toBe(inside ? WINDOW : BASE);
      }),
      { numRuns: 200 },
    );
  });
});

describe('percentages', () => {
  test('a price is rounded up to the next pico-dollar per token', () => {
    const output = (picoUsd: bigint, percentParts: number) =>
      changedByPercent(table(picoUsd), percentParts).prices.outputPicoUsd;
    expect(output(2_000_000n, -100_000)).toBe(1_800_000n);
    expect(output(3n, -100_000)).toBe(3n);
    expect(output(1n, 1)).toBe(2n);
    expect(output(5n, -1_000_000)).toBe(0n);
    expect(output(5n, 0)).toBe(5n);
  });

  test('lengths and tiers are changed alike', () => {
    const prices = { ...NO_PRICES, outputPicoUsd: 100n };
    const tier = { prices, above: [{ inputTokens: 10, prices }] };
    const changed = changedByPercent({ ...tier, serviceTiers: new Map([['flex', tier]]) }, 500_000);
    expect(changed.above[0]).toEqual({ inputTokens: 10, prices: { ...NO_PRICES, outputPicoUsd: 150n } });
    expect(changed.serviceTiers.get('flex')?.above[0]?.prices.outputPicoUsd).toBe(150n);
  });
});
