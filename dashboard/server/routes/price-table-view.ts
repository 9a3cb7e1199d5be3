import type { PricesInTimeView, PriceWindowView } from '#contract/money.ts';
import { windowHours } from '#core/config/price-schedule.ts';
import { type ModelPrices, type PriceList, pricesOn } from '#core/price-list.ts';
import { CHANGES_SHOWN_MS, changesBetween, type PriceWindow, periodAt, tableAt } from '#core/price-schedule.ts';
import { scheduleIn, tableJson } from '#core/price-schedule-json.ts';
import { type TableJson, tableIn } from '#core/price-table-text.ts';
import type {
  ReportedConfiguration,
  ReportedModel,
  ReportedPriceList,
  ReportedPrices,
} from '#database/process-reports/report.ts';

type PricesView = PricesInTimeView & { readonly priceTable: TableJson };

/** A model's current and scheduled prices on a price list. */
export function pricesView(reported: ReportedPrices & Pick<ReportedModel, 'id'>, list: PriceList, nowMs: number) {
  const own = pricesOf(reported);
  return viewOf(pricesOn(list, reported.id, own) ?? own, nowMs);
}

/** Stands for the models' own prices. */
export const NO_LIST: PriceList = { models: new Map() };

/** The price list of an organization. `NO_LIST` if it has none, or if it is not in force. */
export function priceListOf(
  reported: ReportedConfiguration['priceLists'] | undefined,
  name: string | undefined,
): PriceList {
  const lists = new Map(Object.entries(reported ?? {}));
  const list = name === undefined ? undefined : lists.get(name);
  return list === undefined ? NO_LIST : listOf(list);
}

function listOf({ others, models }: ReportedPriceList): PriceList {
  const listed = Object.entries(models).map(([id, one]) => [id, 'percentParts' in one ? one : pricesOf(one)] as const);
  return { ...(others === undefined ? {} : { others }), models: new Map(listed) };
}

function viewOf({ priceTable, schedule }: ModelPrices, nowMs: number): PricesView {
  if (schedule === undefined) return { priceTable: tableJson(priceTable), priceChanges: [], priceWindows: [] };
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

function pricesOf({ prices, above, serviceTiers, schedule: reported }: ReportedPrices): ModelPrices {
  const schedule = reported && scheduleIn(reported);
  const priceTable = tableIn({ prices, above, serviceTiers });
  return { priceTable, ...(schedule === undefined ? {} : { schedule }) };
}
