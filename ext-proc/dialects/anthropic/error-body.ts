import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';

/** By this, Anthropic's tool runners go on without a thread, which they ask for unasked. */
const NO_THREADS = { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } };

/** Body of an error response, and of the event that ends a stream which failed. */
export function errorBody(error: Envelope['error'], requestId: string): JsonObject {
  const details = error.param === 'thread' ? NO_THREADS : {};
  return { type: 'error', error: { ...error, ...details }, request_id: requestId };
}
