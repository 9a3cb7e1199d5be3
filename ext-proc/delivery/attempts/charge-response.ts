import type { Target } from '#core/config/gateway-config.ts';
import type { Refusal } from '#core/errors/refusal.ts';
import type { ProviderOutput } from '../../hold/delivery-hold.ts';
import { sentTierOf } from '../provider/sent-tier.ts';
import type { ActiveDelivery } from './active-delivery.ts';

export interface CalledTarget {
  readonly target: Target;
  /** Since the delivery began. */
  readonly askedMs: number;
}

/** Charges the last attempt's response, or records the attempt as uncharged if that fails. */
export async function chargeResponse(
  delivery: ActiveDelivery,
  { target, askedMs }: CalledTarget,
  produced: ProviderOutput,
  response?: Buffer,
): Promise<Refusal | undefined> {
  let isCharged = false;
  try {
    // No time limit here: the ledger bounds its own wait, and a limit could lose the charge.
    const refused = await delivery.hold.charge(produced, response);
    isCharged = refused === undefined;
    return refused;
  } finally {
    if (!isCharged) {
      const { upstreamId, usage, usageCounted, serviceTier } = produced;
      delivery.hold.uncharged({
        attempt: delivery.attempts.length,
        provider: target.provider.name,
        providerModel: target.model,
        costTable: target.costTable,
        sentTier: sentTierOf(target, delivery.admitted.chat),
        ...(upstreamId === undefined ? {} : { upstreamId }),
        askedAtMs: delivery.startedAtMs + askedMs,
        result: 'ok',
        work: 'some',
        tokens: { usage, source: usageCounted ? 'counted' : 'reported', serviceTier },
      });
    }
  }
}
