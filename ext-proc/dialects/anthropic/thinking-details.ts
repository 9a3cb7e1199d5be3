import type { JsonObject } from '#core/json-object.ts';

/**
 * Thinking blocks as entries of `reasoning_details` of an assistant's message, in the form that
 * OpenRouter has introduced. A client that sends its messages back sends the entries too, and the
 * model continues its thinking after a tool call. A provider gets only entries of this format,
 * because it cannot read those of another API.
 */
const FORMAT = 'anthropic-claude-v1';

/**
 * The entry for thinking. `undefined` without a signature, because the thinking could not be sent
 * back. `index`: its place among the items of the message, which are thinking blocks, one for text,
 * and one for each tool call. Models that hide their thinking sign an empty text.
 */
export function thinkingDetail(text: unknown, signature: unknown, index: number): JsonObject | undefined {
  if (typeof text !== 'string' || typeof signature !== 'string' || signature === '') return undefined;
  return { type: 'reasoning.text', text, signature, format: FORMAT, index };
}

/** The entry for thinking that was redacted. */
export function redactedDetail(data: unknown, index: number): JsonObject | undefined {
  if (typeof data !== 'string' || data === '') return undefined;
  return { type: 'reasoning.encrypted', data, format: FORMAT, index };
}

export function isThinking(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** The block from which an entry was made. `undefined`: the entry is of another API. */
export function thinkingBlock({ type, format, text, signature, data }: JsonObject): JsonObject | undefined {
  if (format !== FORMAT) return undefined;
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data };
  if (type !== 'reasoning.text' || typeof text !== 'string' || typeof signature !== 'string') return undefined;
  return { type: 'thinking', thinking: text, signature };
}
