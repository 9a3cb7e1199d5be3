import type { Target } from '../../../core/config/gateway-config.ts';
import type { ProviderCall } from '../provider/provider-call.ts';
import { FAILURES } from '../provider/provider-failure.ts';
import { AnswerMeter } from '../response/answer-meter.ts';
import { type Answered, chargeAnswer } from './charge-answer.ts';
import type { FailedAttempt } from './run.ts';
import { elapsedMs, type Run, remainingMs } from './run.ts';

/**
 * A client that leaves a stream before its first event, when the provider has the whole request, pays its prompt, because most providers
 * bill it (INTERFACE 4). Envoy takes a request before it is connected to the provider: where the last that it said of that provider is
 * that it cannot reach it, nothing is taken to be sent.
 */
export function paysItsPrompt({ unreachable }: Run, { failure, target, asked }: FailedAttempt): boolean {
  const { provider } = target;
  if (failure !== FAILURES.abandoned || asked?.wasSent !== true) return false;
  return provider.billPromptOnDisconnect !== false && !unreachable.has(provider);
}

/** Longest silence of a provider that may still report what images cost, after its client has left. A reasoning model is drained by its own rule. */
const USAGE_SILENCE_MS = 10_000;

/**
 * A client leaves before its stream has begun. Images are billed by the provider's usage alone: it is waited for, unless nothing would be
 * billed.
 */
export function leaveBefore(run: Run, { provider }: Target, call: ProviderCall): void {
  const leftMs = remainingMs(run);
  if (!run.order.chat.hasImages || provider.billPromptOnDisconnect === false) call.abort(FAILURES.abandoned);
  else call.limit(leftMs < USAGE_SILENCE_MS ? leftMs : USAGE_SILENCE_MS, FAILURES.abandoned);
}

/** A client leaves a stream that has begun: it is cancelled, or read on for its usage for as long as it says something. */
export function leaveBegun({ order }: Run, call: ProviderCall): void {
  if (!order.chat.hasImages) call.abort(FAILURES.abandoned);
  else call.limitSilence(USAGE_SILENCE_MS, FAILURES.abandoned);
}

/** Charges the prompt, counted, and no output. A charge that is refused is recorded, and nobody is left to be told. */
export async function chargePrompt(run: Run, answered: Answered): Promise<void> {
  const { order } = run;
  const { provider, model } = answered.target;
  const latencyMs = elapsedMs(run);
  const { usage } = await new AnswerMeter(order).usage(order.chat, run.countTokens, true);
  await chargeAnswer(run, answered, {
    provider: provider.name,
    providerModel: model,
    usage,
    usageCounted: true,
    cancelled: true,
    latencyMs,
    generationTimeMs: 0,
  });
}
