import type { Target } from '#core/config/gateway-config.ts';
import { pause } from '../../fairness/wait.ts';
import { isTargetUnfit, isUnsayable, type ProviderFailure } from '../provider/provider-failure.ts';
import { asksForLongPause, retryDelayMs } from '../provider/provider-retry-after.ts';
import type { FailedAttempt } from './active-delivery.ts';
import { type ActiveDelivery, isDrained, remainingMs, sinceStartMs } from './active-delivery.ts';
import { attempt, type Opened } from './attempt.ts';
import { paysItsPrompt } from './leaving.ts';
import type { RestingTargets } from './resting-targets.ts';
import { drawOrder } from './target-order.ts';

/** Target that may still be called for this request. */
interface Candidate {
  readonly target: Target;
  /** Attempts so far, all of which failed. */
  asked: number;
  failure?: ProviderFailure;
  /** End of the last attempt, since the delivery began. -Infinity: there was none. */
  failedMs: number;
}

/**
 * Tries the model's targets until one responds. If none does, returns the failure to report
 * (docs/interface.md, "Failures of providers" and "Order of targets").
 */
export async function openFirst(delivery: ActiveDelivery): Promise<Opened | FailedAttempt> {
  const { admitted, requestMemory, resting, random } = delivery;
  const candidates: Candidate[] = drawOrder(admitted.model.targets, random).map((target) => ({
    target,
    asked: 0,
    failedMs: Number.NEGATIVE_INFINITY,
  }));
  let worst: FailedAttempt | undefined;
  for (let next = choose(candidates, resting); next !== undefined; next = choose(candidates, resting)) {
    if (next.asked > 0 && !(await waitFor(delivery, next))) {
      remove(candidates, next);
      continue;
    }
    if (worst !== undefined && !requestMemory.mayBeSent()) break;
    const result = await ask(delivery, next);
    if (result.kind !== 'failed') {
      requestMemory.answered();
      return result;
    }
    worst = failureToReport(worst, result);
    if (result.failure.retry === 'none') break;
    if (!mayBeAskedAgain(delivery, next, candidates.length > 1)) remove(candidates, next);
  }
  if (worst === undefined) throw new Error('a model without targets was admitted');
  return worst;
}

/**
 * Chooses the next target: the first one that does not rest. If all rest, it is one without an
 * attempt for this request, or else the one whose last attempt ended first.
 */
function choose(candidates: readonly Candidate[], resting: RestingTargets): Candidate | undefined {
  const awake = candidates.find(({ target }) => !resting.rests(target));
  if (awake !== undefined) return awake;
  const [first, ...others] = candidates;
  return others.reduce((chosen, other) => (other.failedMs < (chosen?.failedMs ?? 0) ? other : chosen), first);
}

function remove(candidates: Candidate[], candidate: Candidate): void {
  candidates.splice(candidates.indexOf(candidate), 1);
}

/** Waits before a target is retried. False: the attempt would begin after the deadline. */
async function waitFor(delivery: ActiveDelivery, { target, asked, failure, failedMs }: Candidate): Promise<boolean> {
  const { admitted, exchange } = delivery;
  const waitMs = retryDelayMs(asked, failure?.retryAfterMs) - (sinceStartMs(delivery) - failedMs);
  if (waitMs >= remainingMs(delivery)) return false;
  if (waitMs > 0) await pause(waitMs, [admitted.mustEnd, ...(isDrained(delivery, target) ? [] : [exchange.gone])]);
  return true;
}

async function ask(delivery: ActiveDelivery, candidate: Candidate): Promise<Opened | FailedAttempt> {
  const { target } = candidate;
  const askedMs = sinceStartMs(delivery);
  const result = await attempt(delivery, target);
  if (result.kind !== 'failed') return result;
  const { failure } = result;
  candidate.asked += 1;
  candidate.failure = failure;
  candidate.failedMs = sinceStartMs(delivery);
  if (failure.restMs !== undefined) delivery.resting.rest(target, failure.restMs);
  // The provider was not called, so it has not failed.
  if (isUnsayable(failure)) return result;
  delivery.attempts.push({
    provider: target.provider.name,
    result: failure.result,
    account: failure.account,
    durationMs: candidate.failedMs - askedMs,
  });
  if (!paysItsPrompt(delivery, result)) delivery.uncharged.record(delivery, result);
  return result;
}

/** A resting target is retried only when no other is left, so a long pause is acceptable. */
function mayBeAskedAgain({ admitted, resting }: ActiveDelivery, candidate: Candidate, hasOthers: boolean): boolean {
  const { target, asked, failure } = candidate;
  if (failure?.retry !== 'same' || asked > admitted.config.retriesPerTarget) return false;
  return !hasOthers || resting.rests(target) || !asksForLongPause(failure.retryAfterMs);
}

/**
 * Selects the failure to report: the last one, unless it is a configuration error and an earlier
 * target failed too. A target that cannot take the request counts only if none can.
 */
function failureToReport(before: FailedAttempt | undefined, now: FailedAttempt): FailedAttempt {
  if (before === undefined || isTargetUnfit(before.failure)) return now;
  return now.failure.code === 'upstream_config_error' || isTargetUnfit(now.failure) ? before : now;
}
