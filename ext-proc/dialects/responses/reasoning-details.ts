import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * Reasoning items of Responses as entries of `reasoning_details` of an assistant's message, in the
 * form that OpenRouter has introduced. A client that sends its messages back sends the entries too,
 * and the model continues its reasoning after a tool call. A provider gets only entries of this
 * format, because it cannot read those of another API.
 */
const FORMAT = 'openai-responses-v1';

/**
 * The entry for a reasoning item. `undefined` without encrypted content and text, because the item
 * could not be sent back. `index`: its place among the items of the message, which are reasoning
 * items, one for text and refusal, and one for each tool call.
 */
export function reasoningDetail(item: JsonObject, index: number): JsonObject | undefined {
  const { id, encrypted_content: data } = item;
  const named = { ...(typeof id === 'string' ? { id } : {}), format: FORMAT, index };
  const summary = textsOf(item.summary);
  const kept = summary.length === 0 ? {} : { summary };
  if (typeof data === 'string' && data !== '') return { type: 'reasoning.encrypted', ...named, data, ...kept };
  const texts = textsOf(item.content);
  return texts.length === 0 ? undefined : { type: 'reasoning.text', ...named, text: texts.join('\n\n'), ...kept };
}

/** Texts of the parts of a summary or of reasoning, without empty ones. */
function textsOf(parts: unknown): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) =>
    isObject(part) && typeof part.text === 'string' && part.text !== '' ? [part.text] : [],
  );
}

/** The item from which an entry was made. `undefined`: the entry is of another API. */
export function reasoningItem(detail: JsonObject): JsonObject | undefined {
  const { type, format, id, data, text } = detail;
  if (format !== FORMAT || typeof id !== 'string') return undefined;
  const summary = summaryParts(detail.summary);
  if (type === 'reasoning.encrypted' && typeof data === 'string') {
    return { type: 'reasoning', id, summary, encrypted_content: data };
  }
  if (type !== 'reasoning.text' || typeof text !== 'string') return undefined;
  return { type: 'reasoning', id, summary, content: [{ type: 'reasoning_text', text }] };
}

function summaryParts(summary: unknown): JsonObject[] {
  if (!Array.isArray(summary)) return [];
  return summary.flatMap((text: unknown) => (typeof text === 'string' ? [{ type: 'summary_text', text }] : []));
}
