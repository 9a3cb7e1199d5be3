import { changedByPercent, mapTables, type PriceSchedule } from './price-schedule.ts';
import type { PriceTable } from './pricing.ts';

export interface ModelPrices {
  /** The table in force. With a schedule it is the first table until one is chosen by time. */
  readonly priceTable: PriceTable;
  /** Present: the table in force depends on the time of arrival. */
  readonly schedule?: PriceSchedule;
}

/** Changes every price by this percentage, in parts of a percent (PERCENT_PARTS). */
export interface PercentChange {
  readonly percentParts: number;
}

export interface PriceList {
  /** Change of the models that the list does not name. Absent: they keep their own prices. */
  readonly others?: PercentChange;
  readonly models: ReadonlyMap<string, PercentChange | ModelPrices>;
}

/** Prices of a model on a list. `undefined`: its own. */
export function pricesOn(list: PriceList, modelId: string, own: ModelPrices): ModelPrices | undefined {
  const listed = list.models.get(modelId) ?? list.others;
  if (listed === undefined || !('percentParts' in listed)) return listed;
  const change = (table: PriceTable) => changedByPercent(table, listed.percentParts);
  if (own.schedule === undefined) return { ...own, priceTable: change(own.priceTable) };
  const schedule = mapTables(own.schedule, change);
  return { ...own, priceTable: schedule.periods[0].table, schedule };
}
