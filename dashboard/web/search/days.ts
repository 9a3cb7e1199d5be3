import { present } from '#core/present.ts';
import { utcDay } from '../format/format-instant.ts';
import { day } from './url-values.ts';

/** UTC days, both inclusive, as `2026-11-21`. Usage and budgets are kept by them. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The days of an address. `from` and `to` override `range`: both are there or neither. */
export interface DaysUrl {
  readonly range?: Preset | undefined;
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

/** Leaves out days that are invalid or half. */
export function readDays({ range, from, to }: DaysUrl): DaysUrl {
  const isCustom = from !== undefined && to !== undefined && objectionToDays({ from, to }) === undefined;
  return isCustom ? { from, to } : present({ range });
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
