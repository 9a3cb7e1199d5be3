import type { Target } from '../../../core/config/gateway-config.ts';
import { asksForLongPause, retryDelayMs } from '../provider/provider-retry-after.ts';
import { pause } from '../waits/wait.ts';
import type { FailedAttempt } from './active-delivery.ts';
import { type ActiveDelivery, elapsedMs, isDrained, remainingMs } from './active-delivery.ts';
import { attempt, type Opened } from './attempt.ts';
import { paysItsPrompt } from './leaving.ts';

/**
 * Tries the model's targets in order until one responds. If none does, returns the failure to
 * report (docs/interface.md, "Failures of providers").
 */
export async function openFirst(delivery: ActiveDelivery): Promise<Opened | FailedAttempt> {
  const { targets } = delivery.admitted.model;
  let worst: FailedAttempt | undefined;
  for (const [index, target] of targets.entries()) {
    if (worst !== undefined && !delivery.requestMemory.mayBeSent()) break;
    const isLast = index === targets.length - 1;
    const result = await askTarget(delivery, target, isLast);
    if (result.kind !== 'failed') {
      delivery.requestMemory.answered();
      return result;
    }
    worst = failureToReport(worst, result);
    if (result.failure.retry === 'none') break;
  }
  if (worst === undefined) throw new Error('a model without targets was admitted');
  return worst;
}

/** Tries one target, with its retries. */
async function askTarget(delivery: ActiveDelivery, target: Target, isLast: boolean): Promise<Opened | FailedAttempt> {
  const { admitted, exchange, attempts } = delivery;
  for (let asked = 1; ; asked++) {
    const askedMs = elapsedMs(delivery);
    const result = await attempt(delivery, target);
    if (result.kind !== 'failed') return result;
    const { failure } = result;
    const durationMs = elapsedMs(delivery) - askedMs;
    attempts.push({ provider: target.provider.name, result: failure.result, account: failure.account, durationMs });
    if (!paysItsPrompt(delivery, result)) delivery.uncharged.record(delivery, result);
    const again = failure.retry === 'same' && asked <= admitted.config.retriesPerTarget;
    if (!again || (!isLast && asksForLongPause(failure.retryAfterMs))) return result;
    const waitMs = retryDelayMs(asked, failure.retryAfterMs);
    // The next attempt would begin after the deadline.
    if (waitMs >= remainingMs(delivery)) return result;
    await pause(waitMs, [admitted.mustEnd, ...(isDrained(delivery, target) ? [] : [exchange.gone])]);
    if (!delivery.requestMemory.mayBeSent()) return result;
  }
}

/**
 * Selects the failure to report: the last one, unless it is a configuration error and an earlier
 * target failed for another reason.
 */
function failureToReport(before: FailedAttempt | undefined, now: FailedAttempt): FailedAttempt {
  return before !== undefined && now.failure.code === 'upstream_config_error' ? before : now;
}
