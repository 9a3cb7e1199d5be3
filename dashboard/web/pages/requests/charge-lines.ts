import type { PricesView } from '#contract/money.ts';
import type { ChargeView } from '#contract/request-log.ts';
import { formatPico } from '#core/money.ts';
import { chargeNanoUsd, type Prices, tokensAt } from '#core/pricing.ts';

/** Tokens that were charged at one price. */
export interface ChargeLine {
  readonly kind: string;
  readonly tokens: number;
  readonly picoUsd: string;
  /** Exact amount in USD. */
  readonly usd: string;
}

export interface ChargeSum {
  /** Exact, in USD. */
  readonly usd: string;
  readonly roundedNanoUsd: string;
  /** True if a part of a nano-dollar was rounded up. */
  readonly isRounded: boolean;
  /** Reason why less was charged. */
  readonly cutTo?: 'hold' | 'balance';
}

const KINDS: Readonly<Record<keyof Prices, string>> = {
  inputPicoUsd: 'Uncached input',
  cachedInputPicoUsd: 'Cached input',
  cacheWritePicoUsd: 'Cache writes, 5 min',
  cacheWrite1hPicoUsd: 'Cache writes, 1 h',
  outputPicoUsd: 'Output',
};
const PRICES = Object.entries(KINDS) as readonly (readonly [keyof Prices, string])[];

/** Kinds of tokens with their amounts. Kinds without tokens are left out. */
export function chargeLines({ prices, usage }: ChargeView): readonly ChargeLine[] {
  return PRICES.map(([price, kind]) => {
    const tokens = tokensAt(price, usage);
    const usd = formatPico(BigInt(tokens) * BigInt(prices[price]));
    return { kind, tokens, picoUsd: prices[price], usd };
  }).filter(({ tokens }) => tokens > 0);
}

export function chargeSum(charge: ChargeView): ChargeSum {
  const { prices, usage, costNanoUsd, holdNanoUsd } = charge;
  const picoUsd = PRICES.reduce((sum, [price]) => sum + BigInt(tokensAt(price, usage)) * BigInt(prices[price]), 0n);
  const roundedNanoUsd = chargeNanoUsd(exactPrices(prices), usage).toString();
  const isCut = BigInt(costNanoUsd) < BigInt(roundedNanoUsd);
  return {
    usd: formatPico(picoUsd),
    roundedNanoUsd,
    isRounded: BigInt(roundedNanoUsd) * 1000n !== picoUsd,
    ...(isCut ? { cutTo: costNanoUsd === holdNanoUsd ? 'hold' : 'balance' } : {}),
  };
}

function exactPrices(prices: PricesView): Prices {
  const amounts = Object.entries(prices).map(([price, picoUsd]) => [price, BigInt(picoUsd)]);
  return Object.fromEntries(amounts) as Record<keyof Prices, bigint>;
}
