import { cutText } from '#core/cut-text.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import type { ReasoningMember } from '../chat/called-messages.ts';
import type { CalledTool } from '../dialects/chat-message.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { LONGEST_INPUT, MAX_CALLS } from './called-tools.ts';

/** Bounds of the reasoning that is kept for one message. No store accepts more. */
const MOST_DETAILS = 256;
const MOST_CHARACTERS = REASONING_BOUNDS.messageBytes;
/** This many pieces of text are joined. Single pieces take more memory than their characters. */
const MOST_PIECES = 1024;

const LONGEST_PHASE = 64;

/** The tool calls of an assistant message, as its client gets them, and their reasoning. */
export interface ProducedCalls {
  readonly calls: readonly CalledTool[];
  /** Absent: there is none to keep. `too_much`: it exceeds the bounds. */
  readonly reasoning?: ProducedReasoning | 'too_much';
}

export interface ProducedReasoning {
  readonly member: ReasoningMember;
  /** The member's value: a list, of `extra_content` with a member for each call, or a text. */
  readonly value: readonly (JsonObject | null)[] | string;
  /** The `phase` of the message, which models of Responses want back too. */
  readonly phase?: string | undefined;
}

/** Gathers tool calls and reasoning of a response, whole or chunk by chunk. */
export class ProducedMessage {
  readonly #member: ReasoningMember | undefined;
  readonly #calls = new Map<unknown, Gathered>();
  readonly #details: JsonObject[] = [];
  #text: string[] = [];
  #phase: string | undefined;
  #inputCharacters = 0;
  #reasoningCharacters = 0;
  /** True if there are more calls than a name can be made of: no request can look them up. */
  #hasTooManyCalls = false;
  #isTooMuch = false;

  /** `member`: where the reasoning is. Absent: none is kept. */
  constructor(member: ReasoningMember | undefined) {
    this.#member = member;
  }

  /** `choices` of a completion or of a chunk of a request for one completion. */
  take(choices: readonly unknown[]): void {
    const [choice] = choices;
    if (this.#hasTooManyCalls || !isObject(choice)) return;
    const part = choice.delta ?? choice.message;
    if (!isObject(part)) return;
    const { tool_calls: calls } = part;
    if (Array.isArray(calls)) for (const [position, call] of calls.entries()) this.#takeCall(call, position);
    if (this.#calls.size > MAX_CALLS || this.#inputCharacters > LONGEST_INPUT) {
      this.#hasTooManyCalls = true;
      this.#calls.clear();
    }
    if (this.#member !== undefined && !this.#isTooMuch) this.#takeReasoning(part[this.#member]);
    if (this.#member === 'reasoning_details' && typeof part.phase === 'string') {
      this.#phase = cutText(part.phase, LONGEST_PHASE);
      this.#reasoningCharacters += this.#phase.length;
    }
    const isTooMuch = this.#details.length > MOST_DETAILS || this.#reasoningCharacters > MOST_CHARACTERS;
    if (!isTooMuch && !this.#hasTooManyCalls) return;
    this.#isTooMuch = true;
    for (const call of this.#calls.values()) call.extra = null;
    this.#details.length = 0;
    this.#text = [];
  }

  /** `undefined`: the message has no calls that a later request could look up. */
  produced(): ProducedCalls | undefined {
    if (this.#calls.size === 0) return undefined;
    const gathered = [...this.#calls.values()];
    const calls = gathered.map(({ input, extra: _, ...call }) => ({ ...call, input: input.join('') }));
    if (this.#isTooMuch) return { calls, reasoning: 'too_much' };
    if (this.#member === undefined || this.#reasoningCharacters === 0) return { calls };
    const value = {
      reasoning_details: this.#details,
      reasoning_content: this.#text.join(''),
      extra_content: gathered.map(({ extra }) => extra),
    }[this.#member];
    return { calls, reasoning: { member: this.#member, value, phase: this.#phase } };
  }

  #takeReasoning(value: unknown): void {
    if (this.#member === 'reasoning_content') {
      if (typeof value === 'string') this.#takeText(value);
    } else if (this.#member === 'reasoning_details' && Array.isArray(value)) {
      for (const detail of value.filter(isObject)) {
        this.#details.push(detail);
        this.#reasoningCharacters += JSON.stringify(detail).length;
      }
    }
  }

  #takeText(text: string): void {
    this.#text.push(text);
    this.#reasoningCharacters += text.length;
    if (this.#text.length >= MOST_PIECES) this.#text = [this.#text.join('')];
  }

  #takeCall(call: unknown, position: number): void {
    if (!isObject(call)) return;
    // In a whole message calls have no index.
    const index = call.index ?? position;
    const known: Gathered = this.#calls.get(index) ?? { type: 'function', id: '', name: '', input: [], extra: null };
    this.#calls.set(index, known);
    if (typeof call.id === 'string' && call.id !== '') known.id = call.id;
    if (this.#member === 'extra_content' && !this.#isTooMuch && isObject(call.extra_content)) {
      known.extra = call.extra_content;
      this.#reasoningCharacters += JSON.stringify(known.extra).length;
    }
    if (isObject(call.custom)) known.type = 'custom';
    const called = call[known.type];
    if (!isObject(called)) return;
    const input = known.type === 'custom' ? called.input : called.arguments;
    if (typeof called.name === 'string' && called.name !== '') known.name = called.name;
    if (typeof input !== 'string') return;
    known.input.push(input);
    this.#inputCharacters += input.length;
  }
}

interface Gathered {
  type: CalledTool['type'];
  id: string;
  name: string;
  readonly input: string[];
  extra: JsonObject | null;
}
