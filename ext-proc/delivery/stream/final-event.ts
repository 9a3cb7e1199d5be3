import type { Envelope } from '#core/errors/refusal.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';

export const DONE_EVENT = 'data: [DONE]\n\n';

/**
 * The end of a stream that failed (docs/interface.md, "Completions and streams"). Its shape was
 * tested: with `error` first and the role `error` every client library that was tried reports it,
 * while some ignore an error beside an ordinary delta.
 */
export function failureEvent(admitted: AdmittedRequest, error: Envelope['error']): string {
  return dataEvent(
    JSON.stringify({
      error,
      id: admitted.generationId,
      object: 'chat.completion.chunk',
      created: admitted.createdAtSeconds,
      model: admitted.model.id,
      choices: [{ index: 0, delta: { role: 'error', content: '' }, finish_reason: 'error' }],
    }),
  );
}

/** `text` is JSON: line breaks can only separate tokens, so spaces may replace them. */
export function dataEvent(text: string): string {
  return text.includes('\n') ? `data: ${text.replaceAll('\n', ' ')}\n\n` : `data: ${text}\n\n`;
}
