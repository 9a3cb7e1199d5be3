import type { Target } from '../../../core/config/gateway-config.ts';
import type { ProviderCall } from '../provider/provider-call.ts';
import { FAILURES } from '../provider/provider-failure.ts';
import { ResponseMeter } from '../response/response-meter.ts';
import type { FailedAttempt } from './active-delivery.ts';
import { type ActiveDelivery, elapsedMs, remainingMs } from './active-delivery.ts';
import { type AskedTarget, chargeResponse } from './charge-response.ts';

/**
 * A client that leaves a stream before its first event, when the provider has the whole request,
 * pays its prompt, because most providers bill it. Envoy takes a request before it is connected to
 * the provider: if Envoy could not reach that provider the last time, the request counts as not
 * sent.
 */
export function paysItsPrompt({ unreachable }: ActiveDelivery, { failure, target, asked }: FailedAttempt): boolean {
  const { provider } = target;
  if (failure !== FAILURES.abandoned || asked?.wasSent !== true) return false;
  return provider.billPromptOnDisconnect !== false && !unreachable.has(provider);
}

/**
 * Longest silence of a provider that may still report what images cost, after its client has left.
 * A reasoning model is drained by its own rule.
 */
const USAGE_SILENCE_MS = 10_000;

/**
 * A client leaves before its stream has begun. Images are billed by the provider's usage alone: it
 * is waited for, unless nothing would be billed.
 */
export function leaveBefore(delivery: ActiveDelivery, { provider }: Target, call: ProviderCall): void {
  const leftMs = remainingMs(delivery);
  if (!delivery.admitted.chat.hasImages || provider.billPromptOnDisconnect === false) call.abort(FAILURES.abandoned);
  else call.limit(leftMs < USAGE_SILENCE_MS ? leftMs : USAGE_SILENCE_MS, FAILURES.abandoned);
}

/**
 * A client leaves a stream that has begun: it is cancelled, or read on for its usage for as long as
 * it says something.
 */
export function leaveBegun({ admitted }: ActiveDelivery, call: ProviderCall): void {
  if (!admitted.chat.hasImages) call.abort(FAILURES.abandoned);
  else call.limitSilence(USAGE_SILENCE_MS, FAILURES.abandoned);
}

/**
 * Charges the prompt, counted, and no output. A refused charge is recorded; there is no client to
 * report it to.
 */
export async function chargePrompt(delivery: ActiveDelivery, answered: AskedTarget): Promise<void> {
  const { admitted } = delivery;
  const { provider, model } = answered.target;
  const latencyMs = elapsedMs(delivery);
  const { usage } = await new ResponseMeter(admitted).usage(admitted.chat, delivery.countTokens, true);
  await chargeResponse(delivery, answered, {
    provider: provider.name,
    providerModel: model,
    usage,
    usageCounted: true,
    cancelled: true,
    latencyMs,
    generationTimeMs: 0,
  });
}
