import type { Log } from '#core/log/log.ts';
import { present } from '#core/present.ts';
import { NO_USAGE, type ServedUsage } from '#core/pricing.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { AnySettlement, Ledger } from '#database/ledger/ledger.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { allOnceSettled } from './all-once-settled.ts';
import type { Delivered, UnsettledIntent } from './charge-log/intent.ts';
import type { DeliveredOutcome } from './durable-charges.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import { settlementOf } from './settlement-of.ts';
import { providerAttempt, unchargedSettlement } from './uncharged.ts';

export interface RecoveryOptions {
  readonly ledger: Pick<Ledger, 'chargedAmong'>;
  readonly idempotency: Pick<IdempotencyStore, 'free'>;
  readonly attempts: ProviderAttempts;
  /** Charges a settlement and releases its hold. Rejects if it has to be retried. */
  readonly charge: (settlement: AnySettlement) => Promise<DeliveredOutcome>;
  readonly holds: Pick<HoldKeeper, 'release'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Requests that are settled together share commits. */
const SETTLED_AT_ONCE = 100;

/**
 * Returns a function that settles the requests that a killed process left in its log; repeating it
 * is safe. Rejects with StoreUnavailable if that fails now.
 */
export function createRecovery(options: RecoveryOptions): (intents: readonly UnsettledIntent[]) => Promise<void> {
  const { ledger, idempotency, attempts, charge, holds, metrics, log } = options;

  async function chargeOne(intent: UnsettledIntent, isCharged: boolean): Promise<void> {
    const { claim } = intent;
    const settlement = settlementOf(intent, deliveredOutput(intent), intent.asked);
    // A repeated charge changes nothing, and releases the hold with the current balance.
    if (isCharged) await charge(settlement);
    else if (!intent.streamed || intent.delivered === undefined) {
      if (claim) await idempotency.free({ ...intent, keyHash: claim.keyHash });
      await holds.release(intent);
      uncharged(intent, 'crash');
    } else {
      // A claim without a response frees the key.
      const outcome = await charge(claim ? { ...settlement, claim } : settlement);
      if (outcome === 'taken_over') return uncharged(intent, 'taken_over');
      if (outcome === 'refused') {
        const { costTable: _, sentTier: __, promptTokens: ___, ...asked } = intent.asked;
        attempts.record({ ...unchargedSettlement(settlement), ...asked });
        return;
      }
      metrics.recovered('charged');
      log.warn({ generation_id: intent.generationId }, 'a crash cut a stream: what had been delivered is charged');
    }
  }

  function uncharged(intent: UnsettledIntent, reason: 'crash' | 'taken_over'): void {
    const { generationId, delivered } = intent;
    const { promptTokens: _, ...asked } = intent.asked;
    const tokens = { ...usedOf(intent), source: 'estimated' } as const;
    const crashed = { ...asked, ...present({ upstreamId: delivered?.upstreamId }), result: 'crash', tokens };
    attempts.record(providerAttempt(intent, { ...crashed, work: 'some' }, reason));
    metrics.recovered('uncharged');
    log.warn({ generation_id: generationId, provider: asked.provider, reason }, 'a crash ended a request: not charged');
  }

  return async (intents) => {
    for (let at = 0; at < intents.length; at += SETTLED_AT_ONCE) {
      const group = intents.slice(at, at + SETTLED_AT_ONCE);
      const charged = await ledger.chargedAmong(group.map(({ generationId }) => generationId));
      await allOnceSettled(group.map((one) => chargeOne(one, charged.has(one.generationId))));
    }
  };
}

/**
 * Usage of the delivered part: the prompt, and the output that was sent to the client. The tokens
 * are those that the provider reported, or else estimates, as for a stream that breaks.
 */
function usedOf({ delivered, asked: { promptTokens }, mostOutputTokens }: UnsettledIntent): ServedUsage {
  const { ended, reported, tokens = 0 }: Partial<Delivered> = delivered ?? {};
  if (ended !== undefined) return ended;
  // Clamped: an estimate may be above the output limit, and the hold covers no more.
  const completionTokens = Math.min(tokens, mostOutputTokens);
  if (reported === undefined) return { usage: { ...NO_USAGE, promptTokens, completionTokens } };
  const { usage, serviceTier } = reported;
  return { usage: { ...usage, completionTokens: Math.max(usage.completionTokens, completionTokens) }, serviceTier };
}

function deliveredOutput(intent: UnsettledIntent): ProviderOutput {
  const { asked, createdAtMs, delivered } = intent;
  const { ended, upstreamId, firstAtMs = createdAtMs, lastAtMs = createdAtMs }: Partial<Delivered> = delivered ?? {};
  const { usage, serviceTier } = usedOf(intent);
  return {
    ...{ provider: asked.provider, providerModel: asked.providerModel, cancelled: false, finishReason: 'error' },
    ...{ usage, usageCounted: ended?.usageCounted ?? true, ...present({ upstreamId, serviceTier }) },
    ...{ firstEventMs: firstAtMs - createdAtMs, generationTimeMs: lastAtMs - firstAtMs },
  };
}
