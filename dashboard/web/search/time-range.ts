import { present } from '#core/present.ts';
import { day, oneOf, type RawUrl } from './url-values.ts';

const SPANS = ['24h', '7d', '30d', '90d'] as const;
export type Span = (typeof SPANS)[number];

/** A time that a list is filtered by; absent: from the first row on. */
export interface TimeRange {
  readonly range?: Span;
  /** Days of the reader's zone, both inclusive. They override `range`. One of them may be open. */
  readonly from?: string;
  readonly to?: string;
}

export interface Bounds {
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

const DAY_MS = 86_400_000;
const SPAN_MS: Readonly<Record<Span, number>> = {
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
};

export function readTimeRange(raw: RawUrl): TimeRange {
  const days = present({ from: day(raw.from), to: day(raw.to) });
  const isChosen = Object.keys(days).length > 0 && objectionToDays(days) === undefined;
  return isChosen ? days : present({ range: oneOf(SPANS)(raw.range) });
}

export function objectionToDays({ from, to }: Pick<TimeRange, 'from' | 'to'>): string | undefined {
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
