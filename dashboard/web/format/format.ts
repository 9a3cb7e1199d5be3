import type { Setting, Settings } from '#contract/setting.ts';
import { HOUR_MS } from '#core/clock.ts';
import { formatUsd, NANO_PER_USD } from '#core/money.ts';

/** Formats of times. They are in the reader's zone. Tooltips show UTC, which budgets use. */
const DAY = { month: 'short', day: 'numeric' } as const;
const DATE = { ...DAY, year: 'numeric' } as const;
const MINUTE = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const SECOND = { ...MINUTE, second: '2-digit' } as const;
const inWords = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-US', options);
const local = inWords({ ...DATE, ...SECOND });
const localTime = inWords(SECOND);
const localDate = inWords(DATE);
export const localDay = inWords(DAY);
const localMinute = inWords(MINUTE);
export const localMoment = inWords({ ...DAY, ...MINUTE });
const localZone = inWords({ hour: 'numeric', timeZoneName: 'short' });
export const utcDate = inWords({ ...DATE, timeZone: 'UTC' });
const relative = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto', style: 'long' });

const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** `11:43`, or `02:00 GMT+2` for a time that the end of summer time repeats. */
export function formatMinute(atMs: number): string {
  const text = localMinute.format(atMs);
  const isTwice = [atMs - HOUR_MS, atMs + HOUR_MS].some((otherMs) => localMinute.format(otherMs) === text);
  const zone = localZone.formatToParts(atMs).find(({ type }) => type === 'timeZoneName');
  return isTwice && zone ? `${text} ${zone.value}` : text;
}

/** `Nov 21, 2026, 11:43:31` */
export function formatInstant(atMs: number): string {
  return local.format(atMs);
}

/** `11:43:31` today, `Nov 20, 11:43:31` this year, otherwise with the year. */
export function formatShortInstant(atMs: number, nowMs: number): string {
  if (localDate.format(atMs) === localDate.format(nowMs)) return localTime.format(atMs);
  return isSameYear(atMs, nowMs) ? `${localDay.format(atMs)}, ${localTime.format(atMs)}` : formatInstant(atMs);
}

/** `Nov 21, 2026` */
export function formatDate(atMs: number): string {
  return localDate.format(atMs);
}

/** `Dec 3`, with the year if it is not the current one. */
export function formatShortDate(atMs: number, nowMs: number): string {
  return (isSameYear(atMs, nowMs) ? localDay : localDate).format(atMs);
}

function isSameYear(atMs: number, nowMs: number): boolean {
  return new Date(atMs).getFullYear() === new Date(nowMs).getFullYear();
}

/** `2026-11-21 10:43:31 UTC` */
export function formatUtc(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `2026-11-21`, the UTC day of budgets and usage. */
export function utcDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

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

/** Relative time of something that has not happened yet, even if its moment has passed. */
export function formatDue(atMs: number, nowMs: number): string {
  return formatRelative(Math.max(atMs, nowMs + 1), nowMs);
}

/** Significant digits of an amount below one dollar. */
const DIGITS = 2;

/** `$1,234.50`, or two significant digits below $1 (`$0.0042`): requests cost that little. */
export function formatMoney(nanoUsd: string): string {
  const nano = BigInt(nanoUsd);
  const magnitude = nano < 0n ? -nano : nano;
  const sign = nano < 0n ? '−' : '';
  const decimals =
    magnitude === 0n || magnitude >= NANO_PER_USD ? 2 : Math.min(9, Math.max(2, leadingZeros(magnitude) + DIGITS));
  const unit = 10n ** BigInt(9 - decimals);
  const rounded = (magnitude + unit / 2n) / unit;
  const scale = 10n ** BigInt(decimals);
  const fraction = (rounded % scale).toString().padStart(decimals, '0');
  const shown = decimals > 2 ? fraction.replace(/0+$/, '').padEnd(2, '0') : fraction;
  return `${sign}$${(rounded / scale).toLocaleString('en-US')}.${shown}`;
}

function leadingZeros(magnitude: bigint): number {
  return 9 - magnitude.toString().length;
}

/** All digits: `$0.004200001`. */
export function formatMoneyExactly(nanoUsd: string): string {
  const text = formatUsd(BigInt(nanoUsd));
  return text.startsWith('-') ? `−$${text.slice(1)}` : `$${text}`;
}

/** All digits, and at least cents, for booked amounts: `$1,012.50`. */
export function formatMoneyInFull(nanoUsd: string): string {
  const [dollars = '', fraction = ''] = formatMoneyExactly(nanoUsd).split('.');
  return `${dollars.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction.padEnd(2, '0')}`;
}

/** For charts, which do not need more than a double's precision. */
export function dollars(nanoUsd: string): number {
  return Number(nanoUsd) / 1e9;
}

/** Formats a chart value in dollars. With an axis step, all labels have the step's decimals. */
export function formatDollars(value: number, axisStep?: number): string {
  if (axisStep === undefined) return formatMoney(BigInt(Math.round(value * 1e9)).toString());
  const decimals = [2, 3, 4, 5, 6, 7, 8].find((count) => isWhole(axisStep * 10 ** count)) ?? 9;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return `${value < 0 ? '−' : ''}$${Math.abs(value).toLocaleString('en-US', digits)}`;
}

/** Compares with a tolerance, because steps of an axis such as 0.3 are doubles. */
function isWhole(value: number): boolean {
  return Math.abs(value - Math.round(value)) < 1e-6;
}

/** All digits of a price (`$0.125`): pico-dollars a token are micro-dollars a million tokens. */
export function formatPricePerMillion(picoUsd: string): string {
  return formatMoneyInFull((BigInt(picoUsd) * 1000n).toString());
}

/** `$5`, `$0.25`, `$1,000`: an amount without zero cents. */
export function shortMoney(nanoUsd: string): string {
  return formatMoney(nanoUsd).replace(/\.00$/, '');
}

const whole = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 });

/** `12,345` */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** `12.3K`, shortened from ten thousand on. */
export function formatCompact(value: number): string {
  return Math.abs(value) < 10_000 ? whole.format(value) : compact.format(value);
}

/** `4.2%` for 0.042. Negative values have the same minus sign as amounts. */
export function formatPercent(fraction: number): string {
  return percent.format(fraction).replace('-', '−');
}

/** `840 ms`, `1.24 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(2)} s`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / (24 * 60))} d ${Math.floor(minutes / 60) % 24} h`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1.5 GiB` */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/**
 * A typed number without dollar sign, spaces and thousands separators. Other commas are kept, and
 * refused later: in much of the world `1,5` is one and a half, and must not become fifteen.
 */
export function withoutGrouping(text: string): string {
  const digits = text.replaceAll(/[$ _]/g, '').replace('−', '-');
  return /^-?\d{1,3}(,\d{3})+(\.\d*)?$/.test(digits) ? digits.replaceAll(',', '') : digits;
}

/** Settings that have a value, in short form: `60 rpm`, `$5/day`. */
export function briefSettings<Values>(
  settings: Settings<Values>,
  values: { readonly [Name in keyof Values]?: Values[Name] | undefined },
): readonly string[] {
  return Object.entries<Setting>(settings).flatMap(([name, { kind, brief }]) => {
    const value: unknown = values[name as keyof Values];
    if (brief === undefined || value === undefined || value === false) return [];
    const text =
      kind === 'count' ? formatCompact(Number(value)) : kind === 'money' ? shortMoney(String(value)) : String(value);
    return [brief.replace('{}', text).replace('(s)', value === 1 ? '' : 's')];
  });
}
