import { DAILY_FROM_MS } from '#contract/explore.ts';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';
import { localMoment, utcDate } from '../format/format.ts';

/**
 * Days of a calendar, in the reader's time zone or in UTC. A day is a number since 1970 in any
 * zone, so days with a change of clocks are as long as others.
 */
export interface DayZone {
  readonly dayOf: (atMs: number) => number;
  /** The moment at which a clock shows this many minutes after midnight. */
  readonly momentOf: (day: number, minutes?: number) => number;
  /** Minutes after midnight. */
  readonly minutesOf: (atMs: number) => number;
}

export const UTC_DAYS: DayZone = {
  dayOf: (atMs) => Math.floor(atMs / DAY_MS),
  momentOf: (day, minutes = 0) => day * DAY_MS + minutes * MINUTE_MS,
  minutesOf: (atMs) => Math.floor((atMs % DAY_MS) / MINUTE_MS),
};

export const LOCAL_DAYS: DayZone = {
  dayOf(atMs) {
    const local = new Date(atMs);
    return Date.UTC(local.getFullYear(), local.getMonth(), local.getDate()) / DAY_MS;
  },
  momentOf(day, minutes = 0) {
    const date = dateOf(day);
    return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), 0, minutes).getTime();
  },
  minutesOf(atMs) {
    const local = new Date(atMs);
    return local.getHours() * 60 + local.getMinutes();
  },
};

/** A month by the reader's clock would get the figures of parts of two UTC days in full. */
export function zoneOf(lengthMs: number, utc: boolean): DayZone {
  return utc || lengthMs >= DAILY_FROM_MS ? UTC_DAYS : LOCAL_DAYS;
}

/** Both are inclusive. */
export type Days = readonly [first: number, last: number];

function dateOf(day: number): Date {
  return new Date(day * DAY_MS);
}

/** Days of a month in weeks from Sunday, with gaps before the first and after the last day. */
export function weeksOf(day: number): readonly (readonly (number | undefined)[])[] {
  const first = day - dateOf(day).getUTCDate() + 1;
  const length = addMonths(first, 1) - first;
  const begin = first - dateOf(first).getUTCDay();
  return Array.from({ length: 6 }, (_, week) =>
    Array.from({ length: 7 }, (_, weekday) => {
      const here = begin + week * 7 + weekday;
      return here >= first && here < first + length ? here : undefined;
    }),
  );
}

/** The same day in another month, or that month's last day. */
function addMonths(day: number, months: number): number {
  const date = dateOf(day);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDate = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastDate)) / DAY_MS;
}

/** The day to which a key moves, as in ARIA's date grid. */
export function dayByKey(day: number, key: string, shift: boolean): number | undefined {
  const weekday = dateOf(day).getUTCDay();
  const months = shift ? 12 : 1;
  const days: Readonly<Record<string, number>> = {
    ArrowLeft: day - 1,
    ArrowRight: day + 1,
    ArrowUp: day - 7,
    ArrowDown: day + 7,
    Home: day - weekday,
    End: day + 6 - weekday,
    PageUp: addMonths(day, -months),
    PageDown: addMonths(day, months),
  };
  return days[key];
}

const inUtc = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-US', { ...options, timeZone: 'UTC' });
const MONTH = inUtc({ year: 'numeric', month: 'long' });
const DAY = inUtc({ dateStyle: 'full' });

export const monthName = (day: number) => MONTH.format(dateOf(day));
export const dayName = (day: number) => DAY.format(dateOf(day));
export const shortDay = (day: number) => utcDate.format(dateOf(day));
export const dayOfMonth = (day: number) => dateOf(day).getUTCDate();

/** Whole days are shown like `Nov 21 – 23, 2026`, other ranges like `Nov 21, 14:05 – 16:30`. */
export function spanText(fromMs: number | undefined, toMs: number | undefined, utc: boolean): string {
  const [from, to] = [fromMs, toMs].map((atMs) => atMs !== undefined && localMoment.format(atMs));
  if (fromMs === undefined || toMs === undefined) return from ? `Since ${from}` : `Until ${to}`;
  const zone = zoneOf(toMs - fromMs, utc);
  const isWhole = [fromMs, toMs].every((atMs) => zone.momentOf(zone.dayOf(atMs)) === atMs);
  if (!isWhole) return localMoment.formatRange(fromMs, toMs);
  const days = utcDate.formatRange(dateOf(zone.dayOf(fromMs)), dateOf(zone.dayOf(toMs) - 1));
  return zone === UTC_DAYS ? `${days} (UTC)` : days;
}
