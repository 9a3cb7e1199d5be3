import { windowHours } from '../../../core/config/price-schedule.ts';
import { CHANGES_SHOWN_MS, changesBetween, type PriceWindow, periodAt, tableAt } from '../../../core/price-schedule.ts';
import { scheduleIn, tableJson } from '../../../core/price-schedule-json.ts';
import type { ReportedModel } from '../../../database/process-reports/report.ts';
import type { PricesInTimeView, PriceTableView, PriceWindowView } from '../../contract/money.ts';

type ReportedPrices = Pick<ReportedModel, 'prices' | 'above' | 'serviceTiers' | 'schedule'>;

/** Prices of a model that are in force, and those that come. */
export function pricesView(
  reported: ReportedPrices,
  nowMs: number,
): PricesInTimeView & { readonly priceTable: PriceTableView } {
  const schedule = reported.schedule && scheduleIn(reported.schedule);
  if (schedule === undefined) return { priceTable: firstTable(reported), priceChanges: [], priceWindows: [] };
  return {
    priceTable: tableJson(tableAt(schedule, nowMs)),
    priceChanges: changesBetween(schedule, nowMs, nowMs + CHANGES_SHOWN_MS).map(({ fromMs, table, windows }) => ({
      fromMs,
      priceTable: tableJson(table),
      priceWindows: windows.map(windowView),
    })),
    priceWindows: periodAt(schedule, nowMs).windows.map(windowView),
  };
}

function windowView(window: PriceWindow): PriceWindowView {
  return { ...windowHours(window), priceTable: tableJson(window.table) };
}

/** The former release charges cache writes at the price for input, and has one entry. */
function firstTable({ prices, above = [], serviceTiers = {} }: ReportedPrices): PriceTableView {
  const { inputPicoUsd } = prices;
  const writes = { cacheWritePicoUsd: inputPicoUsd, cacheWrite1hPicoUsd: inputPicoUsd };
  return { prices: { ...writes, ...prices }, above, serviceTiers };
}
