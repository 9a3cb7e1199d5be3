import type { Target } from '../../../core/config/gateway-config.ts';
import { asksForLongPause, retryDelayMs } from '../provider/provider-retry-after.ts';
import { pause } from '../waits/wait.ts';
import { attempt, type Opened } from './attempt.ts';
import { paysItsPrompt } from './leaving.ts';
import type { FailedAttempt } from './run.ts';
import { elapsedMs, isDrained, type Run, remainingMs } from './run.ts';

/** Asks the model's targets in order until one answers; the failure to report when none does (INTERFACE 4 and 5). */
export async function openFirst(run: Run): Promise<Opened | FailedAttempt> {
  const { targets } = run.order.model;
  let worst: FailedAttempt | undefined;
  for (const [index, target] of targets.entries()) {
    if (worst !== undefined && !run.request.mayBeSent()) break;
    const isLast = index === targets.length - 1;
    const result = await askTarget(run, target, isLast);
    if (result.kind !== 'failed') {
      run.request.answered();
      return result;
    }
    worst = moreTelling(worst, result);
    if (result.failure.retry === 'none') break;
  }
  if (worst === undefined) throw new Error('a model without targets was admitted');
  return worst;
}

/** One target, with its retries. */
async function askTarget(run: Run, target: Target, isLast: boolean): Promise<Opened | FailedAttempt> {
  const { order, exchange, attempts } = run;
  for (let asked = 1; ; asked++) {
    const askedMs = elapsedMs(run);
    const result = await attempt(run, target);
    if (result.kind !== 'failed') return result;
    const { failure } = result;
    const durationMs = elapsedMs(run) - askedMs;
    attempts.push({ provider: target.provider.name, result: failure.result, account: failure.account, durationMs });
    if (!paysItsPrompt(run, result)) run.uncharged.record(run, result);
    const again = failure.retry === 'same' && asked <= order.config.retriesPerTarget;
    if (!again || (!isLast && asksForLongPause(failure.retryAfterMs))) return result;
    const waitMs = retryDelayMs(asked, failure.retryAfterMs);
    // Nothing is tried after the deadline, and an attempt needs more than no time at all.
    if (waitMs >= remainingMs(run)) return result;
    await pause(waitMs, [order.mustEnd, ...(isDrained(run, target) ? [] : [exchange.gone])]);
    if (!run.request.mayBeSent()) return result;
  }
}

/** The last failure tells most; but a mapping that is wrong is not the client's whole story while another target may work later. */
function moreTelling(before: FailedAttempt | undefined, now: FailedAttempt): FailedAttempt {
  return before !== undefined && now.failure.code === 'upstream_config_error' ? before : now;
}
