import type { z } from 'zod';
import { DAY_MS, utcDayText } from '../clock.ts';
import type { ModelPrices } from '../price-list.ts';
import {
  isTimeless,
  type PricePeriod,
  type PriceSchedule,
  type PriceWindow,
  type WindowHours,
} from '../price-schedule.ts';
import type { PriceTable } from '../pricing.ts';
import type { Target } from './gateway-config.ts';
import { buildPriceTable, checkPriceTable, TABLE, type TableEntry } from './price-table.ts';
import type { RuleProblem } from './problem.ts';
import { list, matching, named, oneOf, readText, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Prices by date (`from`) and by hour (`hours`). */

const MAX_PERIODS = 8;
const MAX_WINDOWS = 8;
const MAX_EXCEPTIONS = 400;
/** In the order of `Date.getUTCDay()`. */
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const MONDAY_FIRST = [...WEEKDAYS.slice(1), ...WEEKDAYS.slice(0, 1)];

const DATE = 'a day such as 2026-12-01';
const date = readText(DATE, (text) => {
  const ms = instantOf(text);
  return ms === undefined || text.length > 10 ? undefined : ms / DAY_MS;
});

const INSTANT = 'a day such as 2026-12-01, from 00:00 UTC, or an instant such as 2026-12-01T08:00:00Z';
const instant = matching(/^\d{4}-\d\d-\d\d(?:T(?!24)\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d))?$/, INSTANT);

const HOURS = 'hours of the day in UTC such as 01:00-04:00; an end before the start is on the next day';
const hoursOfDay = readText(HOURS, (text) => {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text);
  if (match === null) return undefined;
  const [startMinute, endMinute] = [minutes(match[1], match[2]), minutes(match[3], match[4])];
  return endMinute > 1440 || startMinute === endMinute ? undefined : { startMinute, endMinute };
});

const HOURS_OF_WINDOW = {
  utc: hoursOfDay,
  days: list(oneOf(WEEKDAYS), 1, 7, 'of mon, tue, wed, thu, fri, sat, sun').prefault([...WEEKDAYS]),
  except: list(date, 0, MAX_EXCEPTIONS, 'days such as 2026-12-25').prefault([]),
};
const hoursOfWindow = section(HOURS_OF_WINDOW);
const windows = list(
  section({ ...HOURS_OF_WINDOW, ...TABLE }),
  0,
  MAX_WINDOWS,
  'windows such as {utc: "01:00-04:00", input: 1, output: 5}',
);

export const priceSchedule = section({
  ...TABLE,
  hours: windows.prefault([]),
  from: named(instant, section({ ...TABLE, hours: windows.prefault([]) }), INSTANT).prefault({}),
});

export type ScheduleEntry = z.output<typeof priceSchedule>;
export type PeriodEntry = Omit<ScheduleEntry, 'from'>;
export type WindowEntry = PeriodEntry['hours'][number];

export function checkPriceSchedule(path: Path, entry: ScheduleEntry): RuleProblem[] {
  const later = Object.entries(entry.from);
  const problems = [
    ...checkPeriod(path, entry),
    ...later.flatMap(([from, period]) => checkPeriod([...path, 'from', from], period)),
  ];
  later.forEach(([from], index) => {
    const [fromMs, beforeMs] = [instantOf(from), instantOf(later[index - 1]?.[0] ?? '')];
    if (fromMs === undefined) problems.push({ path: [...path, 'from', from], message: `is not ${INSTANT}` });
    else if (fromMs <= (beforeMs ?? Number.NEGATIVE_INFINITY))
      problems.push({ path: [...path, 'from', from], message: 'must be later than the one before it' });
  });
  if (later.length > MAX_PERIODS)
    problems.push({ path: [...path, 'from'], message: `must have at most ${MAX_PERIODS} tables` });
  return problems;
}

function checkPeriod(path: Path, period: PeriodEntry): RuleProblem[] {
  return [
    ...checkPriceTable(path, period),
    ...period.hours.flatMap((window, index) => checkPriceTable([...path, 'hours', index], window)),
  ];
}

export function buildPriceSchedule(entry: ScheduleEntry): PriceSchedule {
  const later = Object.entries(entry.from).map(([from, period]) => buildPeriod(instantOf(from) ?? Infinity, period));
  return { periods: [buildPeriod(Number.NEGATIVE_INFINITY, entry), ...later] };
}

/** The schedule is present only if the prices depend on the time of arrival. */
export function modelPrices(entry: ScheduleEntry): ModelPrices {
  const schedule = buildPriceSchedule(entry);
  return { priceTable: schedule.periods[0].table, ...(isTimeless(schedule) ? {} : { schedule }) };
}

export function costsOf(entry: ScheduleEntry): Pick<Target, 'costTable' | 'costSchedule'> {
  const { priceTable: costTable, schedule } = modelPrices(entry);
  return { costTable, ...(schedule === undefined ? {} : { costSchedule: schedule }) };
}

export function tableEntries(entry: ScheduleEntry): readonly TableEntry[] {
  return [entry, ...Object.values(entry.from)].flatMap((period) => [period, ...period.hours]);
}

function buildPeriod(fromMs: number, period: PeriodEntry): PricePeriod {
  const table = buildPriceTable(period);
  return { fromMs, table, windows: period.hours.map((window) => buildWindow(window, table)) };
}

/** A window keeps the period's prices of service tiers that it does not name itself. */
function buildWindow(entry: WindowEntry, outside: PriceTable): PriceWindow {
  const table = buildPriceTable(entry);
  return {
    ...buildHours(entry),
    table: { ...table, serviceTiers: new Map([...outside.serviceTiers, ...table.serviceTiers]) },
  };
}

export function buildHours({ utc, days, except }: z.output<typeof hoursOfWindow>): WindowHours {
  return { ...utc, weekdays: new Set(days.map((day) => WEEKDAYS.indexOf(day))), exceptDays: new Set(except) };
}

/** Hours of a window whose form was checked before. */
export function readHours(utc: string, days: readonly string[] | undefined): WindowHours {
  return buildHours(hoursOfWindow.parse({ utc, days }));
}

/** The hours of a window as the configuration writes them. */
export function windowHours({ startMinute, endMinute, weekdays, exceptDays }: WindowHours) {
  return {
    utc: `${clockTime(startMinute)}-${clockTime(endMinute)}`,
    days: MONDAY_FIRST.filter((day) => weekdays.has(WEEKDAYS.indexOf(day))),
    except: [...exceptDays].map(utcDayText),
  };
}

function clockTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

/** `undefined`: there is no such day or time. */
export function instantOf(text: string): number | undefined {
  const day = /^(\d{4})-(\d{2})-(\d{2})/.exec(text);
  if (day === null) return undefined;
  const ms = Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text);
  const daysInMonth = new Date(Date.UTC(Number(day[1]), Number(day[2]), 0)).getUTCDate();
  return Number.isNaN(ms) || Number(day[3]) > daysInMonth ? undefined : ms;
}

function minutes(hours = '', ofHour = ''): number {
  return Number(hours) * 60 + Number(ofHour);
}
