import type { Target } from '../../../core/config/gateway-config.ts';
import type { Refusal } from '../../../core/errors/refusal.ts';
import type { Produced } from '../../delivery-contract/delivery.ts';
import type { Run } from './run.ts';

/** Who gave an answer, and when it was asked for. */
export interface Answered {
  readonly target: Target;
  /** Since the delivery began. */
  readonly askedMs: number;
}

/**
 * Charges the answer of the run's last attempt, as Account.charge(). Where that is refused or fails, the attempt is told as one that nobody
 * paid for.
 */
export async function chargeAnswer(
  run: Run,
  { target, askedMs }: Answered,
  produced: Produced,
  answer?: Buffer,
): Promise<Refusal | undefined> {
  let isCharged = false;
  try {
    // The ledger bounds its own wait: giving up on it here could lose the charge.
    const refused = await run.account.charge(produced, answer);
    isCharged = refused === undefined;
    return refused;
  } finally {
    if (!isCharged) {
      const { upstreamId, usage, usageCounted } = produced;
      run.account.uncharged({
        attempt: run.attempts.length,
        provider: target.provider.name,
        providerModel: target.model,
        ...(upstreamId === undefined ? {} : { upstreamId }),
        askedAtMs: run.startedAtMs + askedMs,
        result: 'ok',
        work: 'some',
        tokens: { usage, source: usageCounted ? 'counted' : 'reported' },
      });
    }
  }
}
