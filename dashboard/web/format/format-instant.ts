/** Formats of moments. Times are in the reader's zone; tooltips have UTC, which budgets use. */
const local = new Intl.DateTimeFormat('en-US', {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const localTime = new Intl.DateTimeFormat('en-US', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const localDay = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric' });
const localDate = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric' });
const relative = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto', style: 'long' });

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** `Nov 21, 2026, 11:43:31` */
export function formatInstant(atMs: number): string {
  return local.format(atMs);
}

/** `11:43:31` today, `Nov 20, 11:43:31` this year, otherwise with the year. */
export function formatShortInstant(atMs: number, nowMs: number): string {
  if (localDate.format(atMs) === localDate.format(nowMs)) return localTime.format(atMs);
  if (new Date(atMs).getFullYear() !== new Date(nowMs).getFullYear()) return formatInstant(atMs);
  return `${localDay.format(atMs)}, ${localTime.format(atMs)}`;
}

/** `Nov 21, 2026` */
export function formatDate(atMs: number): string {
  return localDate.format(atMs);
}

/** `2026-11-21 10:43:31 UTC` */
export function formatUtc(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `2026-11-21`, the UTC day of budgets and usage. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

const utcDate = new Intl.DateTimeFormat('en-US', { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' });

/** `2026-11-21` as `Nov 21, 2026`. */
export function formatUtcDay(day: string): string {
  return utcDate.format(Date.parse(`${day}T00:00:00Z`));
}

/** `5 minutes ago`, `in 3 days`, `just now`. */
export function formatRelative(atMs: number, nowMs: number): string {
  const difference = atMs - nowMs;
  for (const [unit, stepMs] of STEPS) {
    if (Math.abs(difference) >= stepMs) return relative.format(Math.trunc(difference / stepMs), unit);
  }
  return difference > 0 ? 'in less than a minute' : 'just now';
}
