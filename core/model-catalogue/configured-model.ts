import type { DeclaredModels } from '../config/load.ts';
import { buildHours, type PeriodEntry, type ScheduleEntry, windowHours } from '../config/price-schedule.ts';
import type { TableEntry } from '../config/price-table.ts';
import type { ModelEntry } from '../config/schema.ts';
import { filledPrices } from '../price-kinds.ts';
import type {
  CataloguePeriod,
  CataloguePricesAbove,
  CatalogueSchedule,
  CatalogueTable,
  CatalogueTier,
} from './catalogue-model.ts';
import { usdPerMillion } from './map-prices.ts';

/** A model as the configuration has it, with the targets that cannot work for now. */
export interface ConfiguredModel extends ModelEntry {
  readonly id: string;
}

export function configuredModels({ models }: DeclaredModels): readonly ConfiguredModel[] {
  return Object.entries(models).map(([id, entry]) => ({ id, ...entry }));
}

type TierEntry = Omit<TableEntry, 'service_tiers'>;
type PricesEntry = Omit<TierEntry, 'above'>;

/** Prices in USD per million tokens by date and hour, with the defaults filled in. */
export function usdSchedule({ from, ...period }: ScheduleEntry): CatalogueSchedule {
  const later = Object.entries(from).map(([start, one]) => [start, usdPeriod(one)] as const);
  return { ...usdPeriod(period), ...(later.length === 0 ? {} : { from: Object.fromEntries(later) }) };
}

function usdPeriod({ hours, ...entry }: PeriodEntry): CataloguePeriod {
  const windows = hours.map((window) => ({ ...windowHours(buildHours(window)), ...usdTable(window) }));
  return { ...usdTable(entry), ...(windows.length === 0 ? {} : { hours: windows }) };
}

function usdTable(entry: TableEntry): CatalogueTable {
  const tiers = Object.entries(entry.service_tiers).map(([name, tier]) => [name, usdTier(tier)] as const);
  return { ...usdTier(entry), ...(tiers.length === 0 ? {} : { service_tiers: Object.fromEntries(tiers) }) };
}

function usdTier({ above, ...prices }: TierEntry): CatalogueTier {
  const steps = above.map(({ input_tokens, ...one }): CataloguePricesAbove => ({ input_tokens, ...usdPrices(one) }));
  return { ...usdPrices(prices), ...(steps.length === 0 ? {} : { above: steps }) };
}

function usdPrices(entry: PricesEntry) {
  const prices = filledPrices(entry);
  return Object.fromEntries(Object.entries(prices).map(([name, price]) => [name, usdPerMillion(price)])) as {
    [Name in keyof typeof prices]: number;
  };
}
