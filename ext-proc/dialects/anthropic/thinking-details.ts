import type { JsonObject } from '#core/json-object.ts';

/**
 * Thinking blocks as entries of `reasoning_details` of an assistant's message, in the form that
 * OpenRouter has introduced. A client that returns its messages returns them, and the model goes on
 * with its thinking after a tool call. Only entries of this format come back to a provider: those
 * of another API cannot be read there.
 */
const FORMAT = 'anthropic-claude-v1';

/**
 * The entry for thinking; `undefined` for thinking without a signature, which could not be sent
 * back. `index`: its place among the items of the message, which are thinking blocks, one for text,
 * and one for each tool call. Models that leave out their thinking sign an empty text.
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

/** The block that an entry was made of; `undefined`: it was made by another API. */
export function thinkingBlock({ type, format, text, signature, data }: JsonObject): JsonObject | undefined {
  if (format !== FORMAT) return undefined;
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data };
  if (type !== 'reasoning.text' || typeof text !== 'string' || typeof signature !== 'string') return undefined;
  return { type: 'thinking', thinking: text, signature };
}
