import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import type { ChargedUsage, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { messageUsage } from './usage.ts';

/** Body of an error response, and of the event that ends a stream which failed. */
export function errorBody(error: Envelope['error'], requestId: string): JsonObject {
  return { type: 'error', error, request_id: requestId };
}

/**
 * The end of a stream that failed. What was charged stands before it, where the message has begun:
 * nobody reads on after an error.
 */
export function failureEvents(
  error: Envelope['error'],
  { requestId }: ResponseNames,
  charged: ChargedUsage | undefined,
): string {
  const delta = { stop_reason: null, stop_sequence: null };
  const usage = charged === undefined ? '' : sentEvent('message_delta', { delta, usage: messageUsage(charged) });
  return usage + sentEvent('error', errorBody(error, requestId));
}
