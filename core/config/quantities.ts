import { PERCENT_PARTS } from '../price-schedule.ts';

/** Readers of sizes, durations and prices. Each returns `undefined` for a malformed value. */

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  GiB: 1024 ** 3,
  GB: 1000 ** 3,
  MiB: 1024 ** 2,
  MB: 1000 ** 2,
  KiB: 1024,
  KB: 1000,
  B: 1,
};

const SIZE = /^(\d{1,16})(B|KB|MB|GB|KiB|MiB|GiB)?$/;

/** `20MiB`, `64KB` or a plain number of bytes. */
export function parseSize(value: string | number): number | undefined {
  const match = SIZE.exec(String(value));
  if (!match) return undefined;
  const bytes = Number(match[1]) * (BYTES_PER_UNIT[match[2] ?? 'B'] ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** The shortest exact form: `20MiB`, `64KB`, `1500B`. */
export function formatSize(bytes: number): string {
  return exactUnit(bytes, BYTES_PER_UNIT, 'B');
}

const MS_PER_UNIT: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

const DURATION = /^(\d{1,12})(ms|s|m|h|d)$/;

/** `250ms`, `120s`, `15m`, `24h`, `7d`. A number without a unit is ambiguous and refused. */
export function parseDuration(value: string): number | undefined {
  const match = DURATION.exec(value);
  if (!match) return undefined;
  const ms = Number(match[1]) * (MS_PER_UNIT[match[2] ?? ''] ?? Number.NaN);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

export function formatDuration(ms: number): string {
  return exactUnit(ms, MS_PER_UNIT, 'ms');
}

function exactUnit(amount: number, units: Readonly<Record<string, number>>, smallest: string): string {
  if (amount === 0) return `0${smallest}`;
  const fitting = Object.entries(units).filter(([, factor]) => amount % factor === 0);
  const shortest = fitting.map(([unit, factor]) => `${amount / factor}${unit}`).sort((a, b) => a.length - b.length);
  return shortest[0] ?? `${amount}${smallest}`;
}

const PRICE = /^(\d{1,7})(?:\.(\d{1,6}))?$/;

/** Highest price. USD per million tokens, to six decimals, are whole pico-dollars: no rounding. */
export const MAX_PRICE_PICO_USD = 1_000_000n * 1_000_000n;

export function parsePrice(value: string | number): bigint | undefined {
  const match = PRICE.exec(String(value));
  if (!match) return undefined;
  const picoUsd = BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'));
  return picoUsd > MAX_PRICE_PICO_USD ? undefined : picoUsd;
}

const PERCENT = /^(-?)(\d{1,4})(?:\.(\d{1,4}))?$/;
const MAX_PERCENT = 1000;

/** A percentage above -100 and at most 1000, in parts of a percent (PERCENT_PARTS). */
export function parsePercent(value: string | number): number | undefined {
  const match = PERCENT.exec(String(value));
  if (!match) return undefined;
  const parts = Number(match[2]) * PERCENT_PARTS + Number((match[3] ?? '').padEnd(4, '0'));
  const signed = match[1] === '-' && parts > 0 ? -parts : parts;
  return signed > -100 * PERCENT_PARTS && signed <= MAX_PERCENT * PERCENT_PARTS ? signed : undefined;
}

const SHARE = /^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/;

/** A share from 0 to 1, with at most 6 decimals. */
export function parseShare(value: string | number): number | undefined {
  return SHARE.test(String(value)) ? Number(value) : undefined;
}
