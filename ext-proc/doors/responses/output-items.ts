import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Asked, ResponseNames } from '../door.ts';
import { type CarriedReasoning, carry } from './carried-reasoning.ts';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** A piece of output that grows, as one item of a response. */
export type OutputItem = MessageItem | ReasoningItem | CallItem;

export interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  readonly parts: MessagePart[];
  phase?: string;
}

export interface MessagePart {
  readonly type: 'output_text' | 'refusal';
  text: string;
  readonly logprobs: unknown[];
}

export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id: string;
  text: string;
  readonly details: JsonObject[];
}

export interface CallItem {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly id: string;
  readonly callId: string;
  readonly name: string;
  readonly namespace?: string;
  input: string;
}

export interface ChatCall {
  readonly type: CallItem['type'];
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** How OpenAI's models write that a call has no arguments. Other providers may write nothing. */
export const NO_ARGUMENTS = '{}';

/** The items of one response, made from the parts of a chat message. */
export class OutputItems {
  readonly items: OutputItem[] = [];
  readonly #generationId: string;
  readonly #asked: Asked;

  constructor({ generationId, asked }: ResponseNames) {
    this.#generationId = generationId;
    this.#asked = asked;
  }

  addMessage(phase?: string): MessageItem {
    return this.#added({ type: 'message', id: this.#id('msg'), parts: [], ...(phase === undefined ? {} : { phase }) });
  }

  addReasoning(): ReasoningItem {
    return this.#added({ type: 'reasoning', id: this.#id('rs'), text: '', details: [] });
  }

  addCall({ type, id, name, input }: ChatCall): CallItem {
    const { namespaces = {} } = this.#asked;
    // A model may name a tool `constructor`.
    const known = Object.hasOwn(namespaces, name) ? namespaces[name] : undefined;
    const [namespace, ownName] = known ?? [undefined, name];
    const ownId = this.#id(type === 'function_call' ? 'fc' : 'ctc');
    const within = namespace === undefined ? {} : { namespace };
    return this.#added({ type, id: ownId, callId: id, name: ownName, ...within, input });
  }

  /** Takes a whole message, in the order in which models write. */
  takeMessage(message: JsonObject, logprobs: unknown): void {
    const { refusal, tool_calls: calls } = message;
    const content = spokenText(message.content);
    const thoughts = reasoningOf(message);
    // Reasoning precedes the item of its index. Without an index it comes first.
    const think = (isEnd: boolean) => {
      while (thoughts[0] && (isEnd || thoughts[0].index <= this.items.length)) this.#takeThought(thoughts.shift());
    };
    think(false);
    if (content !== '' || typeof refusal === 'string') {
      const item = this.addMessage(typeof message.phase === 'string' ? message.phase : undefined);
      if (content !== '')
        item.parts.push({ type: 'output_text', text: content, logprobs: [...textLogprobs(logprobs)] });
      if (typeof refusal === 'string') item.parts.push({ type: 'refusal', text: refusal, logprobs: [] });
    }
    for (const call of Array.isArray(calls) ? calls.filter(isObject) : []) {
      think(false);
      const called = chatCall(call);
      if (called !== undefined) this.addCall(called);
    }
    think(true);
  }

  #takeThought(thought: Thought | undefined): void {
    if (thought === undefined) return;
    const item = this.addReasoning();
    item.text = thought.text;
    item.details.push(...thought.details);
  }

  /** `status`: of the items from `first` on. Those before it are complete. */
  all(status: ItemStatus, first = this.items.length - 1): JsonObject[] {
    return this.items.map((item, at) => this.json(item, at < first ? 'completed' : status));
  }

  json(item: OutputItem, status: ItemStatus): JsonObject {
    const { type, id } = item;
    switch (type) {
      case 'message': {
        const phase = item.phase === undefined ? {} : { phase: item.phase };
        return { type, id, status, role: 'assistant', content: item.parts.map(partJson), ...phase };
      }
      case 'reasoning':
        return { type, id, summary: item.text === '' ? [] : [summaryPart(item.text)], ...this.#encrypted(item) };
      default: {
        const { callId: call_id, name, namespace, input } = item;
        const within = namespace === undefined ? {} : { namespace };
        const args = status === 'completed' ? input || NO_ARGUMENTS : input;
        const given = type === 'function_call' ? { arguments: args } : { input };
        return { type, id, status, call_id, name, ...within, ...given };
      }
    }
  }

  #encrypted(reasoning: ReasoningItem): JsonObject {
    const carried = this.#asked.wantsReasoning ? carry(reasoning) : undefined;
    return carried === undefined ? {} : { encrypted_content: carried };
  }

  #added<Item extends OutputItem>(item: Item): Item {
    this.items.push(item);
    return item;
  }

  /** Made of the generation id and a number, so it is unique. */
  #id(kind: string): string {
    return `${kind}_${this.#generationId.replace(/^gen-/, '')}_${this.items.length}`;
  }
}

/** Reasoning of a message, and its place among the items. */
interface Thought extends CarriedReasoning {
  readonly index: number;
}

/** Each entry has its own text. If none has one, the first gets the message's text. */
export function reasoningOf(message: JsonObject): Thought[] {
  const { reasoning_details: given } = message;
  const said = message.reasoning_content ?? message.reasoning;
  const whole = typeof said === 'string' ? said : '';
  const details = Array.isArray(given) ? given.filter(isObject) : [];
  if (details.length < 2)
    return details.length === 0 && whole === '' ? [] : [{ index: placeOf(details[0]), text: whole, details }];
  const thoughts = details.map((detail) => ({
    index: placeOf(detail),
    text: textOfDetail(detail),
    details: [detail],
  }));
  const [first, ...others] = thoughts;
  const isSilent = thoughts.every(({ text }) => text === '');
  return first && isSilent ? [{ ...first, text: whole }, ...others] : thoughts;
}

function placeOf({ index }: JsonObject = {}): number {
  return typeof index === 'number' ? index : 0;
}

function textOfDetail({ text, summary }: JsonObject): string {
  if (typeof text === 'string') return text;
  return Array.isArray(summary) ? summary.filter((part) => typeof part === 'string').join('\n\n') : '';
}

/** Some providers write content as parts. */
export function spokenText(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  const texts = content.map((part: unknown) => (isObject(part) && part.type === 'text' ? part.text : ''));
  return texts.filter((text) => typeof text === 'string').join('');
}

export function partJson({ type, text, logprobs }: MessagePart): JsonObject {
  return type === 'refusal' ? { type, refusal: text } : { type, annotations: [], logprobs, text };
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text };
}

/** A tool call of chat, or its beginning. `undefined`: it continues another. */
export function chatCall({ id, function: called, custom }: JsonObject): ChatCall | undefined {
  const isCustom = isObject(custom);
  const given = isCustom ? custom : called;
  if (!isObject(given) || typeof given.name !== 'string' || given.name === '') return undefined;
  const input = isCustom ? given.input : given.arguments;
  return {
    type: isCustom ? 'custom_tool_call' : 'function_call',
    id: typeof id === 'string' ? id : '',
    name: given.name,
    input: typeof input === 'string' ? input : '',
  };
}

/** Log probabilities have the same form in both APIs. */
export function textLogprobs(logprobs: unknown): readonly unknown[] {
  return isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : [];
}
