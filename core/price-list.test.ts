import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ModelPrices, type PriceList, pricesOn } from './price-list.ts';
import { PERCENT_PARTS, type PriceSchedule, tablesOf } from './price-schedule.ts';
import { flatTable, type Prices, type PriceTable } from './pricing.ts';

/** One price everywhere, so that a table is known by it. */
function prices(picoUsd: bigint): Prices {
  return {
    inputPicoUsd: picoUsd,
    cachedInputPicoUsd: picoUsd,
    cacheWritePicoUsd: picoUsd,
    cacheWrite1hPicoUsd: picoUsd,
    outputPicoUsd: picoUsd,
  };
}

function table(picoUsd: bigint): PriceTable {
  return flatTable(prices(picoUsd));
}

const OWN: ModelPrices = { priceTable: table(1000n) };
const TABLE: ModelPrices = { priceTable: table(7n) };
const outputOf = (given: ModelPrices | undefined) => given?.priceTable.prices.outputPicoUsd;

function list(given: Partial<PriceList>): PriceList {
  return { models: new Map(), ...given };
}

describe('prices of a list', () => {
  test('an entry of the model comes before the change of the others', () => {
    const others = { percentParts: -10 * PERCENT_PARTS };
    const models: PriceList['models'] = new Map<string, ModelPrices | { percentParts: number }>([
      ['table', TABLE],
      ['percent', { percentParts: 50 * PERCENT_PARTS }],
    ]);
    const given = list({ others, models });
    expect(outputOf(pricesOn(given, 'table', OWN))).toBe(7n);
    expect(outputOf(pricesOn(given, 'percent', OWN))).toBe(1500n);
    expect(outputOf(pricesOn(given, 'other', OWN))).toBe(900n);
  });

  test('a list that does not name a model leaves it as it is', () => {
    expect(pricesOn(list({ models: new Map([['table', TABLE]]) }), 'other', OWN)).toBeUndefined();
  });

  test('a percentage is of every table of the schedule, and keeps its instants', () => {
    const hours = { startMinute: 0, endMinute: 60, weekdays: new Set([1]), exceptDays: new Set<number>() };
    const schedule: PriceSchedule = {
      periods: [
        { fromMs: Number.NEGATIVE_INFINITY, table: table(100n), windows: [{ ...hours, table: table(200n) }] },
        { fromMs: 5, table: table(300n), windows: [] },
      ],
    };
    const given = list({ others: { percentParts: -50 * PERCENT_PARTS } });
    const changed = pricesOn(given, 'm', { priceTable: table(100n), schedule });
    const tables = changed?.schedule ? tablesOf(changed.schedule) : [];
    expect(tables.map((one) => one.prices.inputPicoUsd)).toEqual([50n, 100n, 150n]);
    expect(changed?.priceTable).toBe(tables[0]);
    expect(changed?.schedule?.periods.map(({ fromMs }) => fromMs)).toEqual([Number.NEGATIVE_INFINITY, 5]);
    expect(changed?.schedule?.periods[0].windows[0]).toMatchObject(hours);
  });

  test('a percentage is exact, rounded up, and makes no price free', () => {
    const percentParts = fc.integer({ min: -100 * PERCENT_PARTS + 1, max: 1000 * PERCENT_PARTS });
    const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
    fc.assert(
      fc.property(price, percentParts, (picoUsd, parts) => {
        const changed = outputOf(
          pricesOn(list({ others: { percentParts: parts } }), 'm', { priceTable: table(picoUsd) }),
        );
        // The change is counted apart from the price, in millionths of a pico-dollar.
        const millionths = picoUsd * 1_000_000n + picoUsd * BigInt(parts);
        const whole = millionths / 1_000_000n;
        expect(changed).toBe(whole * 1_000_000n === millionths ? whole : whole + 1n);
        expect(changed === 0n).toBe(picoUsd === 0n);
      }),
    );
  });
});
