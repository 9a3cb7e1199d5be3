import { isObject, type JsonObject } from '#core/json-object.ts';
import type { ReasoningMember } from '../chat/called-messages.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { type CalledTool, LONGEST_INPUT, MOST_CALLS } from './called-tools.ts';

/** Bounds of the reasoning that is kept for one message. No store takes more. */
const MOST_DETAILS = 256;
const MOST_CHARACTERS = REASONING_BOUNDS.messageBytes;
/** Pieces of a text are joined, or each would take more memory than its characters. */
const MOST_PIECES = 1024;

/** An assistant message with tool calls and reasoning, as a client will have it. */
export interface ProducedReasoning {
  readonly calls: readonly CalledTool[];
  readonly member: ReasoningMember;
  /** The member's value: a list of objects, or a text. */
  readonly value: readonly JsonObject[] | string;
}

/** Gathers tool calls and reasoning of a response, whole or chunk by chunk. */
export class ProducedMessage {
  readonly #member: ReasoningMember;
  readonly #calls = new Map<unknown, Gathered>();
  readonly #details: JsonObject[] = [];
  #text: string[] = [];
  #inputCharacters = 0;
  #reasoningCharacters = 0;
  #isTooMuch = false;

  /** `member`: where the reasoning is. */
  constructor(member: ReasoningMember) {
    this.#member = member;
  }

  /** `choices` of a completion or of a chunk of a request for one completion. */
  take(choices: readonly unknown[]): void {
    const [choice] = choices;
    if (this.#isTooMuch || !isObject(choice)) return;
    const part = choice.delta ?? choice.message;
    if (!isObject(part)) return;
    const { tool_calls: calls } = part;
    if (Array.isArray(calls)) for (const [position, call] of calls.entries()) this.#takeCall(call, position);
    this.#takeReasoning(part[this.#member]);
    const isTooMuch =
      this.#calls.size > MOST_CALLS ||
      this.#inputCharacters > LONGEST_INPUT ||
      this.#details.length > MOST_DETAILS ||
      this.#reasoningCharacters > MOST_CHARACTERS;
    if (!isTooMuch) return;
    this.#isTooMuch = true;
    this.#calls.clear();
    this.#details.length = 0;
    this.#text = [];
  }

  /** `undefined`: it has no reasoning that a later request could need. */
  reasoning(): ProducedReasoning | undefined {
    if (this.#isTooMuch || this.#calls.size === 0 || this.#reasoningCharacters === 0) return undefined;
    const calls = [...this.#calls.values()].map(({ input, ...call }) => ({ ...call, input: input.join('') }));
    const value = this.#member === 'reasoning_details' ? this.#details : this.#text.join('');
    return { calls, member: this.#member, value };
  }

  #takeReasoning(value: unknown): void {
    if (this.#member === 'reasoning_content') {
      if (typeof value === 'string') this.#takeText(value);
    } else if (Array.isArray(value)) {
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
    const known = this.#calls.get(index) ?? { id: '', name: '', input: [], isCustom: false };
    this.#calls.set(index, known);
    if (typeof call.id === 'string' && call.id !== '') known.id = call.id;
    known.isCustom ||= isObject(call.custom);
    const called = known.isCustom ? call.custom : call.function;
    if (!isObject(called)) return;
    const input = known.isCustom ? called.input : called.arguments;
    if (typeof called.name === 'string' && called.name !== '') known.name = called.name;
    if (typeof input !== 'string') return;
    known.input.push(input);
    this.#inputCharacters += input.length;
  }
}

interface Gathered {
  id: string;
  name: string;
  readonly input: string[];
  isCustom: boolean;
}
