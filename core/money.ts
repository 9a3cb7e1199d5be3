import { exactNumber } from './exact-number.ts';

/**
 * Money is an integer count of nano-dollars (1 USD = 1e9 nUSD) in a bigint, so that no sum ever
 * rounds. JSON numbers and decimal text exist only at the edges. Both conversions are in this file.
 */
export type NanoUsd = bigint;

export const NANO_PER_USD = 1_000_000_000n;

/** Converts cents, the unit in which cards are charged. */
export function nanoUsdOfCents(cents: bigint): NanoUsd {
  return cents * 10_000_000n;
}

/** Largest amount from outside (1 billion USD): sums stay within PostgreSQL's bigint. */
export const MAX_AMOUNT_NANO_USD = 1_000_000_000n * NANO_PER_USD;

const DECIMAL = /^(-?)(\d{1,10})(?:\.(\d{1,9}))?$/;

/** Reads decimal text such as `12.5` or `-0.000000001`. `undefined`: it is not accepted. */
export function parseUsd(text: string): NanoUsd | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '0', fraction = ''] = match;
  const nano = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0'));
  if (nano > MAX_AMOUNT_NANO_USD) return undefined;
  return sign === '-' ? -nano : nano;
}

/** Exact decimal text without trailing zeros: `0.00025`, `-3`, `12.5`. */
export function formatUsd(nano: NanoUsd): string {
  return decimalText(nano, 9);
}

/** Like `formatUsd`, for USD per token. */
export function formatPico(picoUsd: bigint): string {
  return decimalText(picoUsd, 12);
}

function decimalText(value: bigint, decimals: number): string {
  const magnitude = value < 0n ? -value : value;
  const text = magnitude.toString().padStart(decimals + 1, '0');
  let end = text.length;
  while (end > text.length - decimals && text[end - 1] === '0') end--;
  const fraction = text.slice(-decimals, end);
  return `${value < 0n ? '-' : ''}${text.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The nearest double, as a JSON number: it prints exact decimals up to 15 significant digits. */
export function usdNumber(nano: NanoUsd): number {
  return Number(formatUsd(nano));
}

/** The exact amount: a number, or what `JSON.stringify` writes as a number with more digits. */
export function usdJson(nano: NanoUsd): number | object {
  const number = usdNumber(nano);
  // A number below one dollar is exact, though JSON may write it with an exponent.
  return Math.abs(number) < 1 ? number : exactNumber(number, formatUsd(nano));
}
