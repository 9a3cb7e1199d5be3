import type { AdmittedRequest } from '../provider/admitted-request.ts';
import { FAILURES } from '../provider/provider-failure.ts';
import { ResponseMeter } from '../response/response-meter.ts';
import { type ActiveDelivery, type AskedProvider, elapsedMs, type FailedAttempt } from './active-delivery.ts';
import { chargeResponse } from './charge-response.ts';
import { paysItsPrompt } from './leaving.ts';

/** Failed attempt that the client is charged for. */
export type PaidAttempt = FailedAttempt & { readonly asked: AskedProvider };

/** True if the client has left (`paysItsPrompt`), or if a whole response was too large for it. */
export function isPaid(delivery: ActiveDelivery, failed: FailedAttempt): failed is PaidAttempt {
  const isTooLarge = failed.failure.result === FAILURES.tooLarge.result && !delivery.admitted.chat.stream;
  return isTooLarge || paysItsPrompt(delivery, failed);
}

/**
 * Charges a failed attempt. Without a usage of the provider the prompt is counted, and output is
 * estimated. A refused charge is recorded, and the client gets the error of the attempt.
 */
export async function chargeFailed(delivery: ActiveDelivery, { target, failure, asked }: PaidAttempt): Promise<void> {
  const { admitted, exchange, countTokens } = delivery;
  const hasLeft = failure === FAILURES.abandoned;
  const latencyMs = elapsedMs(delivery);
  const meter = new ResponseMeter(admitted);
  if (asked.reported !== undefined) meter.take({ ...asked.reported, choices: [] });
  const { usage, counted, serviceTier } = await meter.usage(admitted.chat, countTokens, hasLeft);
  const completionTokens = counted && !hasLeft ? outputOf(admitted, asked.responseBytes) : usage.completionTokens;
  await chargeResponse(
    delivery,
    { target, askedMs: asked.askedMs },
    {
      provider: target.provider.name,
      providerModel: target.model,
      ...meter.facts(),
      ...(exchange.gone.aborted ? {} : { finishReason: 'error' }),
      usage: { ...usage, completionTokens },
      usageCounted: counted,
      ...(serviceTier === undefined ? {} : { serviceTier }),
      cancelled: exchange.gone.aborted,
      latencyMs,
      generationTimeMs: 0,
    },
  );
}

/** The same as `estimateTokens` in count-tokens.ts assumes. */
const BYTES_PER_TOKEN = 4;

/** Estimates output of which only the length is known. The output limit bounds it. */
export function outputOf({ chat, outputLimit }: AdmittedRequest, responseBytes: number): number {
  return Math.min(Math.ceil(responseBytes / BYTES_PER_TOKEN), outputLimit * chat.completions);
}
