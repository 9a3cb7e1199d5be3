import type { Log } from '#core/log/log.ts';
import { present } from '#core/present.ts';
import { NO_USAGE, type ServedUsage } from '#core/pricing.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import type { IdempotencyStore } from '#database/idempotency/idempotency-store.ts';
import type { AnySettlement, Ledger } from '#database/ledger/ledger.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { allOnceSettled } from './all-once-settled.ts';
import type { Delivered, LeftIntent } from './charge-log/intent.ts';
import type { LateOutcome } from './durable-charges.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import { settlementOf } from './settlement-of.ts';
import { providerAttempt, unchargedSettlement } from './uncharged.ts';

export interface RecoveryOptions {
  readonly ledger: Pick<Ledger, 'chargedAmong'>;
  readonly idempotency: Pick<IdempotencyStore, 'free'>;
  readonly attempts: ProviderAttempts;
  /** Charges a settlement and releases its hold. Rejects if it has to be retried. */
  readonly charge: (settlement: AnySettlement) => Promise<LateOutcome>;
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
export function createRecovery(options: RecoveryOptions): (left: readonly LeftIntent[]) => Promise<void> {
  const { ledger, idempotency, attempts, charge, holds, metrics, log } = options;

  async function chargeOne(left: LeftIntent, isCharged: boolean): Promise<void> {
    const { claim } = left;
    const settlement = settlementOf(left, deliveredOutput(left), left.asked);
    // A repeated charge changes nothing, and releases the hold with the current balance.
    if (isCharged) await charge(settlement);
    else if (!left.streamed || left.delivered === undefined) {
      if (claim) await idempotency.free({ ...left, keyHash: claim.keyHash });
      await holds.release(left);
      uncharged(left, 'crash');
    } else {
      // A claim without a response frees the key.
      const outcome = await charge(claim ? { ...settlement, claim } : settlement);
      if (outcome === 'taken_over') return uncharged(left, 'taken_over');
      if (outcome === 'refused') {
        const { costTable: _, sentTier: __, promptTokens: ___, ...asked } = left.asked;
        attempts.record({ ...unchargedSettlement(settlement), ...asked });
        return;
      }
      metrics.recovered('charged');
      log.warn({ generation_id: left.generationId }, 'a crash cut a stream: what had been delivered is charged');
    }
  }

  function uncharged(left: LeftIntent, reason: 'crash' | 'taken_over'): void {
    const { generationId, delivered } = left;
    const { promptTokens: _, ...asked } = left.asked;
    const tokens = { ...usedOf(left), source: 'estimated' } as const;
    const crashed = { ...asked, ...present({ upstreamId: delivered?.upstreamId }), result: 'crash', tokens };
    attempts.record(providerAttempt(left, { ...crashed, work: 'some' }, reason));
    metrics.recovered('uncharged');
    log.warn({ generation_id: generationId, provider: asked.provider, reason }, 'a crash ended a request: not charged');
  }

  return async (left) => {
    for (let at = 0; at < left.length; at += SETTLED_AT_ONCE) {
      const group = left.slice(at, at + SETTLED_AT_ONCE);
      const charged = await ledger.chargedAmong(group.map(({ generationId }) => generationId));
      await allOnceSettled(group.map((one) => chargeOne(one, charged.has(one.generationId))));
    }
  };
}

/**
 * Usage of the delivered part: the prompt, and the output that was sent to the client. The tokens
 * are those that the provider reported, or else estimates, as for a stream that breaks.
 */
function usedOf({ delivered, asked: { promptTokens }, mostOutputTokens }: LeftIntent): ServedUsage {
  const { ended, reported, tokens = 0 }: Partial<Delivered> = delivered ?? {};
  if (ended !== undefined) return ended;
  // Clamped: an estimate may be above the output limit, and the hold covers no more.
  const completionTokens = Math.min(tokens, mostOutputTokens);
  if (reported === undefined) return { usage: { ...NO_USAGE, promptTokens, completionTokens } };
  const { usage, serviceTier } = reported;
  return { usage: { ...usage, completionTokens: Math.max(usage.completionTokens, completionTokens) }, serviceTier };
}

function deliveredOutput(left: LeftIntent): ProviderOutput {
  const { asked, createdAtMs, delivered } = left;
  const { ended, upstreamId, firstAtMs = createdAtMs, lastAtMs = createdAtMs }: Partial<Delivered> = delivered ?? {};
  const { usage, serviceTier } = usedOf(left);
  return {
    ...{ provider: asked.provider, providerModel: asked.providerModel, cancelled: false, finishReason: 'error' },
    ...{ usage, usageCounted: ended?.usageCounted ?? true, ...present({ upstreamId, serviceTier }) },
    ...{ firstEventMs: firstAtMs - createdAtMs, generationTimeMs: lastAtMs - firstAtMs },
  };
}
