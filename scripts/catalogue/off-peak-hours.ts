import { isObject } from '#core/json-object.ts';
import type { MapEntry } from './litellm-map.ts';

/** Hours with lower prices in the map. */
interface OffPeak {
  readonly windows: readonly { readonly utc: string; readonly days?: readonly string[] }[];
  /** Members of the map. Other prices are the same as outside these hours. */
  readonly prices: MapEntry;
}

const MAX_WINDOWS = 8;
/** In the order of ISO 8601, in which Monday is 1. */
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const HOURS = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/;
const MINUTES_A_DAY = 1440;
/** Time zones in which the map gives weekdays, in minutes ahead of UTC, without summer time. */
const ZONES: ReadonlyMap<unknown, number> = new Map([
  ['UTC', 0],
  ['Asia/Shanghai', 480],
]);

/** `undefined`: there are none, or a price table cannot express them. */
export function offPeakOf({ off_peak_pricing: given }: MapEntry): OffPeak | undefined {
  if (!isObject(given)) return undefined;
  const { windows, weekday_timezone: zone = 'UTC', ...prices } = given;
  const aheadMinutes = ZONES.get(zone);
  if (!Array.isArray(windows) || aheadMinutes === undefined) return undefined;
  const read = windows.map((window) => windowsIn(window, aheadMinutes));
  if (read.includes(undefined)) return undefined;
  const all = read.flatMap((some) => some ?? []);
  return all.length === 0 || all.length > MAX_WINDOWS ? undefined : { windows: all, prices };
}

function windowsIn(window: unknown, aheadMinutes: number): OffPeak['windows'] | undefined {
  if (!isObject(window)) return undefined;
  const { hours_utc: hours, weekdays } = window;
  const read = (Array.isArray(hours) ? hours : [hours]).map((text) => HOURS.exec(String(text)));
  const days = daysOf(weekdays);
  if (days === undefined || read.some((match) => match === null)) return undefined;
  return read.flatMap((match) => {
    const [, hour, minute, endHour, endMinute] = (match ?? []).map(Number);
    const start = 60 * (hour ?? 0) + (minute ?? 0);
    // An end of 00:00 is midnight at the end of the day. A whole day is written with it as start
    // and end.
    const end = 60 * (endHour ?? 0) + (endMinute ?? 0) || MINUTES_A_DAY;
    return days.length === DAYS.length ? [{ utc: utcOf(start, end) }] : onDays(start, end, days, aheadMinutes);
  });
}

/** The map applies days of the week to each instant, so a window ends with its day. */
function onDays(start: number, end: number, days: readonly string[], aheadMinutes: number): OffPeak['windows'] {
  const nextDay = MINUTES_A_DAY - aheadMinutes;
  const dayBefore = DAYS.filter((_, index) => days.includes(DAYS[(index + 1) % DAYS.length] ?? ''));
  const spans =
    start < end
      ? [[start, end]]
      : [
          [start, MINUTES_A_DAY],
          [0, end],
        ];
  const parts = spans.flatMap(([from = 0, to = 0]) => [
    { from, to: Math.min(to, nextDay), days },
    { from: Math.max(from, nextDay), to, days: dayBefore },
  ]);
  return parts.filter(({ from, to }) => from < to).map((part) => ({ utc: utcOf(part.from, part.to), days: part.days }));
}

function utcOf(start: number, end: number): string {
  const time = (minute: number) =>
    [Math.floor(minute / 60), minute % 60].map((part) => `${part}`.padStart(2, '0')).join(':');
  return `${time(start)}-${time(end)}`;
}

function daysOf(weekdays: unknown): readonly string[] | undefined {
  if (weekdays === undefined) return DAYS;
  if (!Array.isArray(weekdays) || weekdays.length === 0) return undefined;
  const days = DAYS.filter((_, index) => weekdays.includes(index + 1));
  return days.length === new Set(weekdays).size ? days : undefined;
}
