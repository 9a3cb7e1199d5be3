import { type Refusal, refuse } from '#core/errors/refusal.ts';

/** A header that is sent twice arrives joined by `, `, which is not visible ASCII. */
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

const MALFORMED = refuse(
  'invalid_request',
  { problem: 'Idempotency-Key must be 1 to 255 visible ASCII characters.' },
  { param: 'Idempotency-Key' },
);

/** Reads the header `Idempotency-Key`; `undefined` when it was not sent. */
export function readIdempotencyKey(header: string | undefined): string | Refusal | undefined {
  return header === undefined || VISIBLE_ASCII.test(header) ? header : MALFORMED;
}

/** Delay for a retry while the key is in flight: long enough for few retries, but short. */
const RETRY_AFTER_MS = 1_000;

/** Client libraries read `retry-after-ms` first. */
export function keyInFlight(): Refusal {
  return refuse('idempotency_key_in_flight', {}, { headers: { 'retry-after-ms': String(RETRY_AFTER_MS) } });
}
