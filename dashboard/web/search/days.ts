import { present } from '#core/present.ts';
import { utcDay } from '../format/format.ts';
import { day } from './define-search.ts';

/** UTC days, both inclusive, as `2026-11-21`. Usage and budgets are kept by them. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The days of an address. `from` and `to` override `range`. */
export interface DaysUrl<Range extends string = Preset> {
  readonly range?: Range | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export const PRESETS = ['7d', '30d', '90d', 'month', 'last-month'] as const;
export type Preset = (typeof PRESETS)[number];
export const DEFAULT_PRESET: Preset = '30d';

const DAY_MS = 86_400_000;
/** More days than a chart can show. The server has its own bound. */
export const MAX_DAYS = 366;

export function presetDays(preset: Preset, nowMs: number): Days {
  const to = utcDay(nowMs);
  const now = new Date(nowMs);
  const firstOfMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  switch (preset) {
    case '7d':
      return { from: addDays(to, -6), to };
    case '30d':
      return { from: addDays(to, -29), to };
    case '90d':
      return { from: addDays(to, -89), to };
    case 'month':
      return { from: utcDay(firstOfMonth), to };
    case 'last-month':
      return {
        from: utcDay(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)),
        to: utcDay(firstOfMonth - DAY_MS),
      };
  }
}

/** Keeps both days of a state or its range. */
export function validDays<S extends DaysUrl>(state: S): S {
  const { from, to } = state;
  return daysOrRange(state, from !== undefined && to !== undefined && objectionToDays({ from, to }) === undefined);
}

/** Drops the days of a state, or the range that they override. */
function daysOrRange<S extends DaysUrl<string>>({ range, from, to, ...others }: S, hasDays: boolean): S {
  return { ...others, ...(hasDays ? present({ from, to }) : present({ range })) } as S;
}

export function daysOf({ range, from, to }: DaysUrl, nowMs: number): Days {
  if (from !== undefined && to !== undefined) return { from, to };
  return presetDays(range ?? DEFAULT_PRESET, nowMs);
}

/** The reason why these days are invalid, or undefined. */
export function objectionToDays({ from, to }: Days): string | undefined {
  if (day(from) === undefined || day(to) === undefined) return 'Choose a first and a last day.';
  const [fromMs, toMs] = [startMs(from), startMs(to)];
  if (fromMs > toMs) return 'The first day must not be after the last.';
  if ((toMs - fromMs) / DAY_MS >= MAX_DAYS) return `Choose at most ${MAX_DAYS} days.`;
  return undefined;
}

/** All days of a valid range. */
export function daysBetween({ from, to }: Days): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < MAX_DAYS; day = addDays(day, 1)) days.push(day);
  return days;
}

function addDays(day: string, count: number): string {
  return utcDay(startMs(day) + count * DAY_MS);
}

function startMs(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

export const SPANS = ['24h', '7d', '30d', '90d'] as const;
export type Span = (typeof SPANS)[number];

/**
 * A time that a list is filtered by; absent: from the first row on. The days are of the reader's
 * zone, both inclusive, and one of them may be open.
 */
export type TimeRange = DaysUrl<Span>;

export interface Bounds {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

const SPAN_MS: Readonly<Record<Span, number>> = {
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
};

/** Keeps the days of a state or its range. */
export function validTimes<S extends TimeRange>(state: S): S {
  const { from, to } = state;
  return daysOrRange(state, (from ?? to) !== undefined && objectionToTimes(state) === undefined);
}

export function objectionToTimes({ from, to }: TimeRange): string | undefined {
  return from !== undefined && to !== undefined && from > to ? 'The first day must not be after the last.' : undefined;
}

export function boundsOf({ range, from, to }: TimeRange, nowMs: number): Bounds {
  if (from !== undefined || to !== undefined) {
    return present({
      fromMs: from === undefined ? undefined : localDayStartMs(from, 0),
      toMs: to === undefined ? undefined : localDayStartMs(to, 1),
    });
  }
  return range === undefined ? {} : { fromMs: nowMs - SPAN_MS[range] };
}

/**
 * Midnight in the reader's zone, `later` days after it, by the calendar: some days have 23 or 25
 * hours.
 */
function localDayStartMs(text: string, later: number): number {
  const [year = 0, month = 1, date = 1] = text.split('-').map(Number);
  return new Date(year, month - 1, date + later).getTime();
}

/** The day in the reader's zone, as `2026-11-21`. */
export function localDay(nowMs: number): string {
  const now = new Date(nowMs);
  const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}
