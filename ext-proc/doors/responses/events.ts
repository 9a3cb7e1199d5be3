import type { Envelope } from '#core/errors/refusal.ts';
import type { JsonObject } from '#core/json-object.ts';

/** One event, as text. */
export function sentEvent(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

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

/** Rewrites each event of a text of events, which have one line of data each. */
export function eachEvent(text: string, rewrite: (type: string, data: string) => string): string {
  return text.replaceAll(
    /(?:^|(?<=\n))(?:event: ?(.*)\n)?data: ?(.*)\n\n/g,
    (_, type: string | undefined, data: string) => rewrite(type ?? '', data),
  );
}
