import type { NanoUsd } from '#core/money.ts';
import { present } from '#core/present.ts';
import { billedNanoUsd, listNanoUsd, type PricingTerms, priced, type ServedUsage } from '#core/pricing.ts';
import { dueNanoUsd, type Settlement } from '#database/ledger/ledger.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import type { AskedTarget, Intent } from './charge-log/intent.ts';

/** Facts about the called target on which its bill depends. */
type AskedForCost = Partial<Pick<AskedTarget, 'costTable' | 'sentTier'>>;

/** The settlement of an admitted request, without its claim. `asked`: the called target. */
export function settlementOf(request: Intent, produced: ProviderOutput, asked: AskedForCost = {}): Settlement {
  const { generationId, organizationId, keyId, day, model, streamed, createdAtMs, holdNanoUsd, user, api } = request;
  return {
    ...produced,
    ...{ generationId, organizationId, keyId, day, model, streamed, createdAtMs, holdNanoUsd },
    ...priced({ ...request, sentTier: asked.sentTier }, produced),
    ...present({
      ...{ user, api },
      providerCostNanoUsd: providerCostNanoUsd(asked, produced),
      listNanoUsd: listNanoUsd(request, asked.sentTier, produced),
    }),
  };
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

export function tokensOf({ usage }: Settlement): number {
  return usage.promptTokens + usage.completionTokens;
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
