import { expect, it } from 'vitest';
import type { ReportedPrices } from '#database/process-reports/report.ts';
import { configurationWith } from '#test/fixtures/process-report.ts';
import { priceListOf, pricesView } from './price-table-view.ts';

function reported(outputPicoUsd: string): ReportedPrices {
  const others = { inputPicoUsd: '0', cachedInputPicoUsd: '0', cacheWritePicoUsd: '0', cacheWrite1hPicoUsd: '0' };
  return { prices: { ...others, outputPicoUsd }, above: [], serviceTiers: {} };
}

const CONFIGURATION = configurationWith({
  priceLists: {
    partner: { others: { percentParts: -333_333 }, models: { table: reported('7') } },
    wholesale: { models: { table: { percentParts: 500_000 } } },
  },
});

function outputOf(list: string | undefined, id: string, own = reported('1000')): string {
  return pricesView({ id, ...own }, priceListOf(CONFIGURATION.priceLists, list), 0).priceTable.prices.outputPicoUsd;
}

it('an organization sees the prices of its list, as the gateway charges them', () => {
  expect(['table', 'other'].map((id) => outputOf(undefined, id))).toEqual(['1000', '1000']);
  expect(['table', 'other'].map((id) => outputOf('partner', id))).toEqual(['7', '667']);
  expect(['table', 'other'].map((id) => outputOf('wholesale', id))).toEqual(['1500', '1000']);
});

it('a list that is not in force means the models’ own prices', () => {
  for (const list of ['gone', 'constructor', '__proto__']) expect(outputOf(list, 'table')).toBe('1000');
  expect(priceListOf(undefined, 'partner').models.size).toBe(0);
});

it('a percentage also applies to changes and windows', () => {
  const table = { prices: reported('10').prices, above: [], serviceTiers: {} };
  const window = { startMinute: 60, endMinute: 120, weekdays: [0, 1, 2, 3, 4, 5, 6], exceptDays: [], table };
  const schedule = {
    periods: [
      { fromMs: null, table, windows: [window] },
      { fromMs: 5, table, windows: [] },
    ],
  };
  const own = { ...reported('10'), schedule };
  const { priceTable, priceChanges, priceWindows } = pricesView(
    { id: 'table', ...own },
    priceListOf(CONFIGURATION.priceLists, 'wholesale'),
    0,
  );
  const shown = [priceTable, priceChanges[0]?.priceTable, priceWindows[0]?.priceTable];
  expect(shown.map((one) => one?.prices.outputPicoUsd)).toEqual(['15', '15', '15']);
});
