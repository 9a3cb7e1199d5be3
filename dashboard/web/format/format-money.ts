import { formatUsd, NANO_PER_USD } from '#core/money.ts';

/** Significant digits of an amount below a dollar. */
const DIGITS = 2;

/**
 * An amount in nano-dollars: `$1,234.50`. Below a dollar it has as many decimals as two significant
 * digits need (`$0.0042`), because single requests cost fractions of a cent.
 */
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

/** Number of zeros after the point of an amount below a dollar. */
function leadingZeros(magnitude: bigint): number {
  return 9 - magnitude.toString().length;
}

/** All digits: `$0.004200001`. */
export function formatMoneyExactly(nanoUsd: string): string {
  const text = formatUsd(BigInt(nanoUsd));
  return text.startsWith('-') ? `−$${text.slice(1)}` : `$${text}`;
}

/** All digits and at least cents, for booked amounts: `$1,012.50`. */
export function formatMoneyInFull(nanoUsd: string): string {
  const [dollars = '', fraction = ''] = formatMoneyExactly(nanoUsd).split('.');
  return `${dollars.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction.padEnd(2, '0')}`;
}

/** For charts, where a double is exact enough. */
export function dollars(nanoUsd: string): number {
  return Number(nanoUsd) / 1e9;
}

/** Formats a chart value in dollars. */
export function formatDollars(value: number): string {
  return formatMoney(BigInt(Math.round(value * 1e9)).toString());
}

/**
 * All digits of a price: `$2.50`, `$0.125`. Pico-dollars per token equal micro-dollars per million
 * tokens.
 */
export function formatPricePerMillion(picoUsd: string): string {
  const text = formatUsd(BigInt(picoUsd) * 1000n);
  const [whole = '', fraction = ''] = text.split('.');
  return `$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(2, '0')}`;
}
