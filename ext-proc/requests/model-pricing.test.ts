import { expect, it } from 'vitest';
import type { PriceSchedule } from '#core/price-schedule.ts';
import { flatTable } from '#core/pricing.ts';
import { PRICES } from '#test/fixtures/priced-usage.ts';
import { modelPricing } from './model-pricing.ts';

const SHOWN = { input: 1.25, cached_input: 0.125, cache_write: 1.5625, cache_write_1h: 2.5, output: 10 };
const FLAT = { ...SHOWN, above: [], service_tiers: {} };
const PER_TOKEN = {
  prompt: '0.00000125',
  completion: '0.00001',
  input_cache_read: '0.000000125',
  input_cache_write: '0.0000015625',
};

it('has the members of the configuration, and those that clients read', () => {
  expect(modelPricing({ priceTable: flatTable(PRICES) }, 0)).toEqual({ ...FLAT, changes: [], hours: [], ...PER_TOKEN });
});

it('has every entry of the table', () => {
  const above = [{ inputTokens: 272_000, prices: { ...PRICES, inputPicoUsd: 1n } }];
  const table = { prices: PRICES, above, serviceTiers: new Map([['flex', { prices: PRICES, above }]]) };
  const shown = [{ ...SHOWN, input_tokens: 272_000, input: 0.000001 }];
  expect(modelPricing({ priceTable: table }, 0)).toEqual({
    ...{ ...SHOWN, above: shown, changes: [], hours: [], ...PER_TOKEN },
    service_tiers: { flex: { ...SHOWN, above: shown } },
  });
});

it('lists changes of the next 90 days, and the windows in which other prices hold', () => {
  const priceTable = flatTable(PRICES);
  const window = {
    ...{ startMinute: 990, endMinute: 30, weekdays: new Set([0, 1, 5]), exceptDays: new Set([20_727]) },
    table: flatTable({ ...PRICES, outputPicoUsd: 1n }),
  };
  const [december, february] = [Date.parse('2026-12-01T00:00:00Z'), Date.parse('2027-02-25T08:30:00Z')];
  const schedule: PriceSchedule = {
    periods: [
      { fromMs: Number.NEGATIVE_INFINITY, table: priceTable, windows: [window] },
      { fromMs: december, table: flatTable({ ...PRICES, inputPicoUsd: 2_500_000n }), windows: [] },
      { fromMs: february, table: priceTable, windows: [] },
    ],
  };
  const november = Date.parse('2026-11-24T12:00:00Z');
  const hours = { utc: '16:30-00:30', days: ['mon', 'fri', 'sun'], except: ['2026-10-01'] };
  expect(modelPricing({ priceTable, schedule }, november)).toEqual({
    ...{ ...FLAT, ...PER_TOKEN },
    changes: [{ from: '2026-12-01T00:00:00Z', ...FLAT, input: 2.5, hours: [] }],
    hours: [{ ...hours, ...FLAT, output: 0.000001 }],
  });
  expect(modelPricing({ priceTable, schedule }, december)).toMatchObject({
    changes: [{ from: '2027-02-25T08:30:00Z', input: 1.25 }],
    hours: [],
  });
});
