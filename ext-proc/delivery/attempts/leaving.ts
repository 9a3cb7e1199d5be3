import type { Target } from '#core/config/gateway-config.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { ProviderCall } from '../provider/provider-call.ts';
import { FAILURES } from '../provider/provider-failure.ts';
import { ResponseMeter } from '../response/response-meter.ts';
import type { FailedAttempt } from './active-delivery.ts';
import { type ActiveDelivery, remainingMs, sinceStartMs } from './active-delivery.ts';
import { type CalledTarget, chargeResponse } from './charge-response.ts';

/**
 * True if a client that left before the first event is charged for the prompt. It is if the
 * provider has the whole request, because most providers bill the prompt then. Envoy accepts a
 * request before it connects, so a provider that was unreachable last time is assumed not to have
 * it.
 */
export function paysItsPrompt({ unreachable }: ActiveDelivery, { failure, target, asked }: FailedAttempt): boolean {
  const { provider } = target;
  if (failure !== FAILURES.abandoned || asked?.wasSent !== true) return false;
  return provider.billPromptOnDisconnect !== false && !unreachable.has(provider);
}

/**
 * After the client has left, a provider that may still report the usage of images and files may be
 * silent for this long. Streams that are drained have no such limit (`isDrained`).
 */
const USAGE_SILENCE_MS = 10_000;

/**
 * Handles a client that leaves before its stream has begun. Only the provider's usage tells the
 * cost of images and files, so it is awaited, unless the provider bills nothing then.
 */
export function leaveBefore(delivery: ActiveDelivery, { provider }: Target, call: ProviderCall): void {
  if (!delivery.admitted.chat.hasMedia || provider.billPromptOnDisconnect === false) call.abort(FAILURES.abandoned);
  else call.limit(Math.min(USAGE_SILENCE_MS, remainingMs(delivery)), FAILURES.abandoned);
}

/**
 * Handles a client that leaves a begun stream. The call is cancelled, but with images or files it
 * is read on for its usage until the provider falls silent.
 */
export function leaveBegun({ admitted }: ActiveDelivery, call: ProviderCall): void {
  if (!admitted.chat.hasMedia) call.abort(FAILURES.abandoned);
  else call.limitSilence(USAGE_SILENCE_MS, FAILURES.abandoned);
}

/**
 * Charges the prompt and no output. The prompt has the tokens that the provider reported, or else
 * is counted. A refused charge is recorded; there is no client to report it to.
 */
export async function chargePrompt(
  delivery: ActiveDelivery,
  called: CalledTarget,
  reported: JsonObject | undefined,
): Promise<void> {
  const { admitted } = delivery;
  const { provider, model } = called.target;
  // Without a first event this is the time until the client left.
  const firstEventMs = sinceStartMs(delivery);
  const meter = new ResponseMeter(admitted);
  if (reported !== undefined) meter.take({ ...reported, choices: [] });
  const metered = await meter.usage(admitted.chat, delivery.countTokens, true);
  await chargeResponse(delivery, called, {
    provider: provider.name,
    providerModel: model,
    ...metered,
    cancelled: true,
    firstEventMs,
    generationTimeMs: 0,
  });
}
