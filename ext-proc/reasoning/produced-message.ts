import { isObject, type JsonObject } from '#core/json-object.ts';
import { REASONING_BOUNDS } from '../limits/reasoning/reasoning-store.ts';
import { type CalledTool, LONGEST_INPUT, MOST_CALLS } from './called-tools.ts';

/** Bounds of the `reasoning_details` that are kept for one message. No store takes more. */
const MOST_DETAILS = 256;
const MOST_DETAIL_CHARACTERS = REASONING_BOUNDS.messageBytes;

/** An assistant message with tool calls and reasoning, as a client will have it. */
export interface ProducedReasoning {
  readonly calls: readonly CalledTool[];
  readonly details: readonly JsonObject[];
}

/** Gathers tool calls and reasoning of a response, whole or chunk by chunk. */
export class ProducedMessage {
  readonly #calls = new Map<unknown, Gathered>();
  readonly #details: JsonObject[] = [];
  #inputCharacters = 0;
  #detailCharacters = 0;
  #isTooMuch = false;

  /** `choices` of a completion or of a chunk. A dialect gives one choice. */
  take(choices: readonly unknown[]): void {
    const [choice] = choices;
    if (this.#isTooMuch || !isObject(choice)) return;
    const part = choice.delta ?? choice.message;
    if (!isObject(part)) return;
    const { tool_calls: calls, reasoning_details: details } = part;
    if (Array.isArray(calls)) for (const [position, call] of calls.entries()) this.#takeCall(call, position);
    if (Array.isArray(details)) for (const detail of details.filter(isObject)) this.#takeDetail(detail);
    const isTooMuch =
      this.#calls.size > MOST_CALLS ||
      this.#inputCharacters > LONGEST_INPUT ||
      this.#details.length > MOST_DETAILS ||
      this.#detailCharacters > MOST_DETAIL_CHARACTERS;
    if (!isTooMuch) return;
    this.#isTooMuch = true;
    this.#calls.clear();
    this.#details.length = 0;
  }

  /** `undefined`: it has no reasoning that a later request could need. */
  reasoning(): ProducedReasoning | undefined {
    if (this.#isTooMuch || this.#calls.size === 0 || this.#details.length === 0) return undefined;
    const calls = [...this.#calls.values()].map(({ input, ...call }) => ({ ...call, input: input.join('') }));
    return { calls, details: this.#details };
  }

  #takeDetail(detail: JsonObject): void {
    this.#details.push(detail);
    this.#detailCharacters += JSON.stringify(detail).length;
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
