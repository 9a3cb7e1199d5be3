import { isObject, type JsonObject } from '#core/json-object.ts';

/** A call of a tool in a response. */
export interface CalledTool {
  readonly type: 'function' | 'custom';
  readonly id: string;
  readonly name: string;
  /** Arguments of a function, or the input of a custom tool. */
  readonly input: string;
}

/** `undefined` for an item that is no call of a tool of the client. */
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

/** The call as chat completions write it. `input` may be the beginning of it. */
export function toolCall({ type, id, name, input }: CalledTool): JsonObject {
  return {
    id,
    type,
    ...(type === 'function' ? { function: { name, arguments: input } } : { custom: { name, input } }),
  };
}

export type PartKind = 'text' | 'refusal' | 'summary' | 'reasoning';

/** A piece of text of a response. Calls have none. */
export interface OutputPart {
  readonly kind: PartKind;
  /** Its place among the parts of its list. */
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

/** Between texts of different messages, and between parts of the reasoning. */
export const BLANK_LINE = '\n\n';

/** Chat has one text, in which those of two messages or blocks stand apart. */
export function withoutBlankLine(text: string): string {
  return text.startsWith(BLANK_LINE) ? text.slice(BLANK_LINE.length) : text;
}

/** Longest id and model that are repeated in every chunk. */
const LONGEST_NAME = 200;

/** Members that every chunk of a response begins with, and its whole completion. */
export interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** Head of a stream that has not named its response. */
export const UNKNOWN_HEAD: CompletionHead = { id: '', created: 0, model: '' };

export function headOf({ id, created_at: created, model }: JsonObject): CompletionHead {
  return {
    id: typeof id === 'string' ? id.slice(0, LONGEST_NAME) : '',
    created: typeof created === 'number' && Number.isFinite(created) ? Math.floor(created) : 0,
    model: typeof model === 'string' ? model.slice(0, LONGEST_NAME) : '',
  };
}
