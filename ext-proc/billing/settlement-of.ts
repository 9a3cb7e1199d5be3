import { present } from '#core/present.ts';
import { listNanoUsd, priced } from '#core/pricing.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import { providerCostNanoUsd } from './attempt-amounts.ts';
import type { AskedTarget, Intent } from './charge-log/intent.ts';

/** The settlement of an admitted request, without its claim. `asked`: the called target. */
export function settlementOf(
  request: Intent,
  produced: ProviderOutput,
  asked: Pick<AskedTarget, 'costTable' | 'sentTier'> = {},
): Settlement {
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
