import { isObject, type JsonObject } from '#core/json-object.ts';
import type { CalledTool } from '../chat-message.ts';

/** The call in an item. `undefined`: the item is not a call of a client's tool. */
export function calledTool(item: JsonObject): CalledTool | undefined {
  const { type, call_id, id, name } = item;
  if ((type !== 'function_call' && type !== 'custom_tool_call') || typeof name !== 'string') return undefined;
  const input = type === 'function_call' ? item.arguments : item.input;
  return {
    type: type === 'function_call' ? 'function' : 'custom',
    id: typeof call_id === 'string' ? call_id : typeof id === 'string' ? id : '',
    name,
    input: typeof input === 'string' ? input : '',
  };
}

type PartKind = 'text' | 'refusal' | 'summary' | 'reasoning';

/** A piece of text of a response. Calls have none. */
export interface OutputPart {
  readonly kind: PartKind;
  /** Its index in its list of parts. */
  readonly index: number;
  readonly text: string;
  readonly logprobs: unknown;
}

const KIND_OF_TYPE: ReadonlyMap<unknown, PartKind> = new Map([
  ['output_text', 'text'],
  ['refusal', 'refusal'],
  ['summary_text', 'summary'],
  ['reasoning_text', 'reasoning'],
]);

/** Parts of a message, or of a reasoning item: its summary, then its text. */
export function outputParts({ type, summary, content }: JsonObject): OutputPart[] {
  if (type === 'message') return partsOf(content);
  return type === 'reasoning' ? [...partsOf(summary), ...partsOf(content)] : [];
}

function partsOf(parts: unknown): OutputPart[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown, index) => {
    if (!isObject(part)) return [];
    const kind = KIND_OF_TYPE.get(part.type);
    const text = kind === 'refusal' ? part.refusal : part.text;
    return kind !== undefined && typeof text === 'string' ? [{ kind, index, text, logprobs: part.logprobs }] : [];
  });
}
