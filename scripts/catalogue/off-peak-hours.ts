import { isObject } from '#core/json-object.ts';
import type { MapEntry } from './litellm-map.ts';

/** Hours in which the map has lower prices. */
interface OffPeak {
  readonly windows: readonly { readonly utc: string; readonly days?: readonly string[] }[];
  /** Members of the map. What is not here costs what it costs at other hours. */
  readonly prices: MapEntry;
}

const MAX_WINDOWS = 8;
/** In the order of ISO 8601: Monday is 1. */
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const HOURS = /^(\d\d:\d\d)-(\d\d:\d\d)$/;

/** `undefined`: there are none, or a price table cannot say them. */
export function offPeakOf({ off_peak_pricing: given }: MapEntry): OffPeak | undefined {
  if (!isObject(given)) return undefined;
  const { windows, weekday_timezone: zone, ...prices } = given;
  // Days of another time zone are not days of UTC.
  if (!Array.isArray(windows) || (zone !== undefined && zone !== 'UTC')) return undefined;
  const read = windows.map(windowsIn);
  if (read.includes(undefined)) return undefined;
  const all = read.flatMap((some) => some ?? []);
  return all.length === 0 || all.length > MAX_WINDOWS ? undefined : { windows: all, prices };
}

function windowsIn(window: unknown): OffPeak['windows'] | undefined {
  if (!isObject(window)) return undefined;
  const { hours_utc: hours, weekdays } = window;
  const read = (Array.isArray(hours) ? hours : [hours]).map((text) => HOURS.exec(String(text)));
  const days = daysOf(weekdays);
  if (days === undefined || read.some((match) => match === null)) return undefined;
  return read.map((match) => {
    const [, start = '', end = ''] = match ?? [];
    // An end at midnight is that of the same day, and the whole day begins and ends there.
    const utc = `${start}-${end === '00:00' ? '24:00' : end}`;
    return days.length === DAYS.length ? { utc } : { utc, days };
  });
}

function daysOf(weekdays: unknown): readonly string[] | undefined {
  if (weekdays === undefined) return DAYS;
  if (!Array.isArray(weekdays) || weekdays.length === 0) return undefined;
  const days = DAYS.filter((_, index) => weekdays.includes(index + 1));
  return days.length === new Set(weekdays).size ? days : undefined;
}
