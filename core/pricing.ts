import type { NanoUsd } from './money.ts';

/**
 * Prices of one model, in pico-dollars per token (USD per million tokens x 1e6): integers, so that
 * a charge is exact.
 */
export interface Prices {
  readonly inputPicoUsd: bigint;
  readonly cachedInputPicoUsd: bigint;
  readonly outputPicoUsd: bigint;
}

/**
 * Tokens of a generation. Cached tokens are part of prompt tokens, reasoning tokens part of
 * completion tokens.
 */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
}

/** The values of what a line of an earlier release lacks, because that release did not know it. */
export const NO_PRICES: Prices = { inputPicoUsd: 0n, cachedInputPicoUsd: 0n, outputPicoUsd: 0n };
export const NO_USAGE: TokenUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 };

/** A price and the tokens that it is charged for: those of one kind, without those of others. */
interface PricedTokens {
  readonly tokens: keyof TokenUsage;
  readonly without: readonly (keyof TokenUsage)[];
  /** Bound on these tokens while nothing has been delivered. */
  readonly atMost: 'input' | 'output';
}

/**
 * The formula of a charge, one part for each price. The verification of the ledger makes its SQL
 * from the same parts (database/ledger/usage-columns.ts).
 */
export const PRICED_TOKENS: Readonly<Record<keyof Prices, PricedTokens>> = {
  inputPicoUsd: { tokens: 'promptTokens', without: ['cachedTokens'], atMost: 'input' },
  cachedInputPicoUsd: { tokens: 'cachedTokens', without: [], atMost: 'input' },
  outputPicoUsd: { tokens: 'completionTokens', without: [], atMost: 'output' },
};

const PARTS = Object.entries(PRICED_TOKENS) as readonly (readonly [keyof Prices, PricedTokens])[];
const INPUT_PRICES = pricesAtMost('input');
const OUTPUT_PRICES = pricesAtMost('output');

const PICO_PER_NANO = 1000n;

/** The one rounding of a generation: up to the next nano-dollar. */
function toNanoUsd(picoUsd: bigint): NanoUsd {
  return (picoUsd + PICO_PER_NANO - 1n) / PICO_PER_NANO;
}

/** The exact charge for what was used. */
export function chargeNanoUsd(prices: Prices, usage: TokenUsage): NanoUsd {
  let picoUsd = 0n;
  for (const [price, { tokens, without }] of PARTS) {
    let count = usage[tokens];
    for (const other of without) count -= usage[other];
    picoUsd += BigInt(count) * prices[price];
  }
  return toNanoUsd(picoUsd);
}

/**
 * The most a request can cost: every input token at the highest price for input, and every
 * completion as long as the limit sent to the provider.
 */
export function worstCaseNanoUsd(prices: Prices, inputTokensCeiling: number, outputTokens: number): NanoUsd {
  const input = BigInt(inputTokensCeiling) * highest(prices, INPUT_PRICES);
  return toNanoUsd(input + BigInt(outputTokens) * highest(prices, OUTPUT_PRICES));
}

function pricesAtMost(bound: PricedTokens['atMost']): readonly (keyof Prices)[] {
  return PARTS.filter(([, { atMost }]) => atMost === bound).map(([price]) => price);
}

function highest(prices: Prices, names: readonly (keyof Prices)[]): bigint {
  return names.reduce((most, name) => (prices[name] > most ? prices[name] : most), 0n);
}
