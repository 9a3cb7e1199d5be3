const KINDS = ['credit', 'charge'] as const;
export type Kind = (typeof KINDS)[number];
/** Absent: from the first entry on. */
const SPANS = ['24h', '7d', '30d', '90d'] as const;
export type Span = (typeof SPANS)[number];

export interface LedgerTimes {
  readonly range?: Span;
  /** Days of the reader's zone, both inclusive; before `range`. One of them may be open. */
  readonly from?: string;
  readonly to?: string;
}

/** As it stands in the URL; absent is the default. */
export interface LedgerSearch extends LedgerTimes {
  readonly kind?: Kind;
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

/** Whatever a URL says: what cannot be is left out. */
export function readLedgerSearch(raw: Readonly<Record<string, unknown>>): LedgerSearch {
  const kind = KINDS.find((candidate) => candidate === raw.kind);
  return { ...(kind && { kind }), ...readTimes(raw) };
}

export function readTimes(raw: Readonly<Record<string, unknown>>): LedgerTimes {
  const range = SPANS.find((candidate) => candidate === raw.range);
  const from = day(raw.from);
  const to = day(raw.to);
  const days = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const own = (from !== undefined || to !== undefined) && objectionToDays(days) === undefined;
  return own ? days : { ...(range && { range }) };
}

export function isFiltered(search: LedgerSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}

export function objectionToDays({ from, to }: Pick<LedgerSearch, 'from' | 'to'>): string | undefined {
  return from !== undefined && to !== undefined && from > to ? 'The first day must not be after the last.' : undefined;
}

export function boundsOf({ range, from, to }: LedgerTimes, nowMs: number): Bounds {
  if (from !== undefined || to !== undefined) {
    return {
      ...(from !== undefined && { fromMs: localDayStartMs(from, 0) }),
      ...(to !== undefined && { toMs: localDayStartMs(to, 1) }),
    };
  }
  return range === undefined ? {} : { fromMs: nowMs - SPAN_MS[range] };
}

/** Midnight in the reader's zone, `later` days after it. Days are counted by the calendar: some have 23 or 25 hours. */
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

/** A day that there is. */
function day(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^[12]\d{3}-\d{2}-\d{2}$/.test(value)) return undefined;
  const atMs = Date.parse(`${value}T00:00:00Z`);
  return Number.isNaN(atMs) || new Date(atMs).toISOString().slice(0, 10) !== value ? undefined : value;
}
