import { utcDay } from '../../format/format-instant.ts';

/** Days of UTC, both inclusive, as `2026-11-21`: usage is kept by them, as budgets are. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export const PRESETS = ['7d', '30d', '90d', 'month', 'last-month'] as const;
export type Preset = (typeof PRESETS)[number];

const DAY_MS = 86_400_000;
/** More points than pixels say nothing; the server sets its own bound. */
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

/** Midnight UTC of a day that there is, of four digits: `2026-02-30` and `26-1-1` are none. */
export function dayStartMs(day: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  const atMs = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(atMs) || utcDay(atMs) !== day ? undefined : atMs;
}

/** Why these days cannot be shown, or `undefined`. */
export function objectionToDays({ from, to }: Days): string | undefined {
  const fromMs = dayStartMs(from);
  const toMs = dayStartMs(to);
  if (fromMs === undefined || toMs === undefined) return 'Choose a first and a last day.';
  if (fromMs > toMs) return 'The first day must not be after the last.';
  if ((toMs - fromMs) / DAY_MS >= MAX_DAYS) return `Choose at most ${MAX_DAYS} days.`;
  return undefined;
}

/** Every day of them; only of days without an objection. */
export function daysBetween({ from, to }: Days): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < MAX_DAYS; day = addDays(day, 1)) days.push(day);
  return days;
}

function addDays(day: string, count: number): string {
  return utcDay(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS);
}
