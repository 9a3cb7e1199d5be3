import type { NanoUsd } from '#core/money.ts';
import { billedNanoUsd, type PriceTable, type PricingTerms, priced, type ServedUsage } from '#core/pricing.ts';
import { dueNanoUsd } from '#database/ledger/ledger.ts';

/** Facts about the called target on which its bill depends. */
interface AskedForCost {
  readonly costTable?: PriceTable | undefined;
  readonly sentTier?: string | undefined;
}

/**
 * Cost of an attempt at its provider, in nano-dollars. The hold does not bound it. `undefined`: the
 * target has no costs, or nothing is known of the tokens.
 */
export function providerCostNanoUsd(
  { costTable, sentTier }: AskedForCost,
  used: ServedUsage | undefined,
): NanoUsd | undefined {
  return costTable === undefined || used === undefined ? undefined : billedNanoUsd(costTable, sentTier, used);
}

/** What the customer owes for the usage of an attempt: its price, but at most the hold. */
export function attemptDueNanoUsd(
  terms: PricingTerms & { readonly holdNanoUsd: NanoUsd },
  sentTier: string | undefined,
  used: ServedUsage,
): NanoUsd {
  const { costNanoUsd } = priced({ ...terms, sentTier }, used);
  return dueNanoUsd({ costNanoUsd, holdNanoUsd: terms.holdNanoUsd });
}
