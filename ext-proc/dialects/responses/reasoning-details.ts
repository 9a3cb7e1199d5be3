import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * Reasoning items of Responses as entries of `reasoning_details` of an assistant's message, in the
 * form that OpenRouter has introduced. A client that returns its messages returns them, and the
 * model goes on with its reasoning after a tool call. Only entries of this format come back to a
 * provider: those of another API cannot be read there.
 */
const FORMAT = 'openai-responses-v1';

/**
 * The entry for a reasoning item; `undefined` for one that could not be sent back, without
 * encrypted content and without text. `index`: its place among the items of the message, which are
 * reasoning items, one for text and refusal, and one for each tool call.
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

/** Counts the items of a message so far, which gives a reasoning item its place among them. */
export class MessageItems {
  reasoning = 0;
  /** Text and refusal are one item. */
  hasText = false;
  calls = 0;

  get count(): number {
    return this.reasoning + Number(this.hasText) + this.calls;
  }
}

/** Texts of the parts of a summary or of reasoning, without empty ones. */
export function textsOf(parts: unknown): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) =>
    isObject(part) && typeof part.text === 'string' && part.text !== '' ? [part.text] : [],
  );
}

/**
 * Puts reasoning items back where they stood among the items of a message. OpenAI refuses one that
 * nothing follows, so none stands at the end, and a message without other items has none.
 */
export function withReasoning(items: readonly JsonObject[], details: unknown): JsonObject[] {
  const reasoning = Array.isArray(details) ? details.flatMap(reasoningItem) : [];
  reasoning.sort((one, other) => one.index - other.index);
  const merged: JsonObject[] = [];
  let next = 0;
  for (const [position, item] of items.entries()) {
    const isLast = position === items.length - 1;
    for (let one = reasoning[next]; one && (isLast || one.index <= merged.length); one = reasoning[++next]) {
      merged.push(one.item);
    }
    merged.push(item);
  }
  return merged;
}

interface PlacedItem {
  readonly index: number;
  readonly item: JsonObject;
}

function reasoningItem(detail: unknown): PlacedItem[] {
  if (!isObject(detail) || detail.format !== FORMAT || typeof detail.id !== 'string') return [];
  const { type, id, data, text, index } = detail;
  const summary = summaryParts(detail.summary);
  const place = typeof index === 'number' && Number.isFinite(index) ? index : 0;
  if (type === 'reasoning.encrypted' && typeof data === 'string') {
    return [{ index: place, item: { type: 'reasoning', id, summary, encrypted_content: data } }];
  }
  if (type !== 'reasoning.text' || typeof text !== 'string') return [];
  return [{ index: place, item: { type: 'reasoning', id, summary, content: [{ type: 'reasoning_text', text }] } }];
}

function summaryParts(summary: unknown): JsonObject[] {
  if (!Array.isArray(summary)) return [];
  return summary.flatMap((text: unknown) => (typeof text === 'string' ? [{ type: 'summary_text', text }] : []));
}
