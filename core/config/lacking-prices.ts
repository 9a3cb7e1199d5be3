import { OPTIONAL_PRICES, type OptionalPriceName } from '../price-kinds.ts';
import { TWIN_TIERS } from '../service-tiers.ts';
import { type PeriodEntry, type ScheduleEntry, tableEntries } from './price-schedule.ts';
import type { TableEntry } from './price-table.ts';
import type { RuleProblem } from './problem.ts';
import type { Path } from './yaml-tree.ts';

type EntryPrices = Readonly<Partial<Record<OptionalPriceName, unknown>>>;
type LongPrompts = Pick<TableEntry, 'above'>;

/**
 * Warns of a table for a day, for hours or for long prompts that lacks a price which the table that
 * it replaces has. These tokens would be charged as input, or a long prompt as a short one, which
 * is seldom intended. `own`: prices of the model, which the schedule of a price list replaces.
 */
export function lackingPrices(path: Path, schedule: ScheduleEntry, own?: ScheduleEntry): readonly RuleProblem[] {
  const later = Object.entries(schedule.from).flatMap(([from, period]) => {
    const place = [...path, 'from', from];
    return [...comparedTables(place, period, schedule), ...withinPeriod(place, period)];
  });
  const inList = own === undefined ? [] : lackingInList(schedule, own);
  return [...warningOf(path, inList), ...withinPeriod(path, schedule), ...later];
}

/**
 * Prices and tiers of the model's first table that the first one of the list lacks, and those of
 * its later tables and hours that no table of the list has.
 */
function lackingInList(listed: ScheduleEntry, own: ScheduleEntry): readonly string[] {
  const first = new Set(meantNames(listed));
  const any = new Set(tableEntries(listed).flatMap(meantNames));
  const later = tableEntries(own).flatMap(namesIn);
  return [...new Set([...namesIn(own).filter((name) => !first.has(name)), ...later.filter((name) => !any.has(name))])];
}

/** With the other names of tiers: the list's prices hold for both. */
function meantNames(table: TableEntry): readonly string[] {
  const twins = Object.keys(table.service_tiers).flatMap((tier) => TWIN_TIERS.get(tier) ?? []);
  return [...namesIn(table), ...twins.map(tierName)];
}

function namesIn(table: TableEntry): readonly string[] {
  const tiers = Object.keys(table.service_tiers).map(tierName);
  const kinds = OPTIONAL_PRICES.filter((kind) => table[kind] !== undefined);
  return [...kinds, ...(table.above.length > 0 ? ['above'] : []), ...tiers];
}

function tierName(tier: string): string {
  return `service_tiers.${tier}`;
}

function withinPeriod(path: Path, period: PeriodEntry): readonly RuleProblem[] {
  const windows = period.hours.flatMap((window, index) => {
    const place = [...path, 'hours', index];
    return [...comparedTables(place, window, period), ...longPrompts(place, window)];
  });
  return [...longPrompts(path, period), ...windows];
}

function longPrompts(path: Path, table: EntryPrices & LongPrompts): readonly RuleProblem[] {
  return table.above.flatMap((entry, index) => warningOf([...path, 'above', index], lackingKinds(entry, table)));
}

function comparedTables(
  path: Path,
  table: EntryPrices & LongPrompts,
  replaced: EntryPrices & LongPrompts,
): readonly RuleProblem[] {
  const lacksLong = table.above.length === 0 && replaced.above.length > 0;
  return warningOf(path, [...lackingKinds(table, replaced), ...(lacksLong ? ['above'] : [])]);
}

function lackingKinds(table: EntryPrices, replaced: EntryPrices): readonly string[] {
  return OPTIONAL_PRICES.filter((kind) => table[kind] === undefined && replaced[kind] !== undefined);
}

function warningOf(path: Path, lacking: readonly string[]): readonly RuleProblem[] {
  if (lacking.length === 0) return [];
  return [{ path, message: `has no ${lacking.join(' and no ')}, unlike the table that it replaces` }];
}
