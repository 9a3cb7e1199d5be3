import type { NanoUsd } from '../../core/money.ts';
import { type PriceTable, type PricingTerms, priced, type TokenUsage } from '../../core/pricing.ts';

/** Usage of an attempt, with the tier that its response names. */
interface AttemptUsage {
  readonly usage: TokenUsage;
  readonly serviceTier?: string | undefined;
}

/**
 * Cost of an attempt at its provider, in nano-dollars. The hold does not bound it. `undefined`: the
 * target has no costs, or nothing is known of the tokens.
 */
export function providerCostNanoUsd(
  costTable: PriceTable | undefined,
  { askedTier }: Pick<PricingTerms, 'askedTier'>,
  used: AttemptUsage | undefined,
): NanoUsd | undefined {
  if (costTable === undefined || used === undefined) return undefined;
  return priced({ priceTable: costTable, askedTier }, used).costNanoUsd;
}
