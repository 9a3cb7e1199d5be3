import { DAY_MS, MINUTE_MS } from './clock.ts';
import { byPrice } from './price-kinds.ts';
import type { Prices, PriceTable, TierPrices } from './pricing.ts';

/**
 * Price tables by time. Only the arrival of a request decides which table prices it. So a reload, a
 * midnight or the end of a window between arrival and charge changes nothing (docs/design.md,
 * "Prices in time").
 */
export interface PriceSchedule {
  /** Ascending. The first one begins before every request. */
  readonly periods: readonly [PricePeriod, ...PricePeriod[]];
}

/** A table that applies until the next period begins. */
export interface PricePeriod {
  readonly fromMs: number;
  readonly table: PriceTable;
  /** The first one that contains the arrival replaces the table. */
  readonly windows: readonly PriceWindow[];
}

/** Hours of another table. A window that passes midnight belongs to the day of its start. */
export interface PriceWindow extends WindowHours {
  readonly table: PriceTable;
}

export interface WindowHours {
  /** Minutes since 00:00 UTC, without the end. An end before the start is on the next day. */
  readonly startMinute: number;
  readonly endMinute: number;
  /** Days of the week; 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Days on which the window does not begin, as days since 1970-01-01. */
  readonly exceptDays: ReadonlySet<number>;
}

/** Changes of prices that are shown before they happen: 90 days. */
export const CHANGES_SHOWN_MS = 90 * DAY_MS;

/** 1970-01-01 was a Thursday. */
const WEEKDAY_OF_DAY_0 = 4;

/** True if one table always applies. */
export function isTimeless({ periods }: PriceSchedule): boolean {
  return periods.length === 1 && periods[0].windows.length === 0;
}

/** The table for a request at `atMs`, always the same object: texts of tables are cached by it. */
export function tableAt(schedule: PriceSchedule, atMs: number): PriceTable {
  const period = periodAt(schedule, atMs);
  return period.windows.find((window) => contains(window, atMs))?.table ?? period.table;
}

/** Instants between which the table that applies at `atMs` does not change. */
export interface Interval {
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
}

export function intervalAt(schedule: PriceSchedule, atMs: number): Interval {
  const period = periodAt(schedule, atMs);
  const next = schedule.periods[schedule.periods.indexOf(period) + 1];
  const midnightMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  const edges = period.windows.flatMap(({ startMinute, endMinute }) =>
    [startMinute, endMinute].flatMap((minute) =>
      [-DAY_MS, 0, DAY_MS].map((dayMs) => midnightMs + dayMs + minute * MINUTE_MS),
    ),
  );
  return {
    fromMs: Math.max(period.fromMs, ...edges.filter((edge) => edge <= atMs)),
    untilMs: Math.min(next?.fromMs ?? Number.POSITIVE_INFINITY, ...edges.filter((edge) => edge > atMs)),
  };
}

export function periodAt({ periods }: PriceSchedule, atMs: number): PricePeriod {
  return periods.findLast(({ fromMs }) => fromMs <= atMs) ?? periods[0];
}

/** Periods that begin after `afterMs` and not after `untilMs`. */
export function changesBetween({ periods }: PriceSchedule, afterMs: number, untilMs: number): readonly PricePeriod[] {
  return periods.filter(({ fromMs }) => fromMs > afterMs && fromMs <= untilMs);
}

/** Every table of the schedule, those of windows too. */
export function tablesOf({ periods }: PriceSchedule): readonly PriceTable[] {
  return periods.flatMap(({ table, windows }) => [table, ...windows.map((window) => window.table)]);
}

export function mapTables(schedule: PriceSchedule, change: (table: PriceTable) => PriceTable): PriceSchedule {
  const [first, ...later] = schedule.periods;
  const changed = (period: PricePeriod): PricePeriod => ({
    ...period,
    table: change(period.table),
    windows: period.windows.map((window) => ({ ...window, table: change(window.table) })),
  });
  return { periods: [changed(first), ...later.map(changed)] };
}

export function contains({ startMinute, endMinute, weekdays, exceptDays }: WindowHours, atMs: number): boolean {
  const day = Math.floor(atMs / DAY_MS);
  const minute = Math.floor((atMs - day * DAY_MS) / MINUTE_MS);
  const begins = (on: number) => weekdays.has((on + WEEKDAY_OF_DAY_0) % 7) && !exceptDays.has(on);
  if (startMinute < endMinute) return minute >= startMinute && minute < endMinute && begins(day);
  return (minute >= startMinute && begins(day)) || (minute < endMinute && begins(day - 1));
}

/** Parts of a percent. Percentages have four decimals, so they are whole numbers of parts. */
export const PERCENT_PARTS = 10_000;
const WHOLE = BigInt(100 * PERCENT_PARTS);

/**
 * A price changed by a percentage, rounded up to the next pico-dollar per token. `parts`: percent
 * times PERCENT_PARTS, -1,000,000 or more.
 */
export function percentOf(picoUsd: bigint, parts: number): bigint {
  return (picoUsd * (WHOLE + BigInt(parts)) + WHOLE - 1n) / WHOLE;
}

export function changedByPercent(table: PriceTable, parts: number): PriceTable {
  const prices = (given: Prices): Prices => byPrice((field) => percentOf(given[field], parts));
  const tier = ({ above, ...given }: TierPrices): TierPrices => ({
    prices: prices(given.prices),
    above: above.map((one) => ({ inputTokens: one.inputTokens, prices: prices(one.prices) })),
  });
  const tiers = [...table.serviceTiers].map(([name, given]) => [name, tier(given)] as const);
  return { ...table, ...tier(table), serviceTiers: new Map(tiers) };
}
