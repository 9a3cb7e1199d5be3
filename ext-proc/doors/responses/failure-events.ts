import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';
import { sentEvent } from '../events.ts';

/**
 * The end of a response that failed. The official libraries report an event that has an `error`;
 * others wait for `response.failed`.
 */
export function failureEvents(error: Envelope['error'], response: JsonObject, sequence: number): string {
  const { code, message, param = null } = error;
  const failed = { ...response, status: 'failed', error: { code, message } };
  return (
    sentEvent('error', { sequence_number: sequence, code, message, param, error }) +
    sentEvent('response.failed', { sequence_number: sequence + 1, response: failed })
  );
}
