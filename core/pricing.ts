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

const PICO_PER_NANO = 1000n;

/** The one rounding of a generation: up to the next nano-dollar. */
function toNanoUsd(picoUsd: bigint): NanoUsd {
  return (picoUsd + PICO_PER_NANO - 1n) / PICO_PER_NANO;
}

/** The exact charge for what was used. */
export function chargeNanoUsd(prices: Prices, usage: TokenUsage): NanoUsd {
  const uncached = BigInt(usage.promptTokens - usage.cachedTokens);
  return toNanoUsd(
    uncached * prices.inputPicoUsd +
      BigInt(usage.cachedTokens) * prices.cachedInputPicoUsd +
      BigInt(usage.completionTokens) * prices.outputPicoUsd,
  );
}

/**
 * The most a request can cost: no token cached (or all, if cached ones are more expensive), every
 * completion as long as the limit sent to the provider.
 */
export function worstCaseNanoUsd(prices: Prices, inputTokensCeiling: number, outputTokens: number): NanoUsd {
  const input = prices.inputPicoUsd > prices.cachedInputPicoUsd ? prices.inputPicoUsd : prices.cachedInputPicoUsd;
  return toNanoUsd(BigInt(inputTokensCeiling) * input + BigInt(outputTokens) * prices.outputPicoUsd);
}
