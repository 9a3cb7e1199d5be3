import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import { editObject } from '../../dialects/json-members.ts';
import { CallDeltas, wholeCall } from './call-deltas.ts';

/** Repairs responses that clients cannot read. */
export interface Repaired {
  readonly text: string;
  readonly completion: Completion;
}

/** Most characters of the chunks of a stream in which calls may wait for their names. */
const MOST_HELD = 64 * 1024;

/** As many as can be requested. Those of other indexes pass, because each index costs memory. */
const MOST_CHOICES = 128;

const ROLE = 'assistant';

export class ChunkRepairs {
  readonly #generationId: string;
  readonly #calls = new Map<unknown, CallDeltas>();
  /** Indexes of the choices whose first delta has come. */
  readonly #begun = new Set<unknown>();
  #heldCharacters = 0;

  constructor(generationId: string) {
    this.#generationId = generationId;
  }

  /** Returns the chunk unchanged in nearly all cases. */
  repair(text: string, completion: Completion): Repaired {
    let isRepaired = false;
    const choices = completion.choices.map((choice, at) => {
      const repaired = isObject(choice) ? this.#repairChoice(numbered(choice, at), text.length) : choice;
      isRepaired ||= repaired !== choice;
      return repaired;
    });
    return isRepaired ? withChoices(text, completion, choices) : { text, completion };
  }

  /** The finish reason for a choice that ended without one. */
  reasonFor(index: unknown): string {
    return this.#calls.has(index) ? 'tool_calls' : 'stop';
  }

  #repairChoice(choice: JsonObject, chunkCharacters: number): JsonObject {
    // xAI's finish reason beside tools is `""` (LiteLLM, xai/chat/transformation.py).
    const named = this.#withRole(choice.finish_reason === '' ? { ...choice, finish_reason: null } : choice);
    const { delta, index } = named;
    const given = isObject(delta) && Array.isArray(delta.tool_calls) ? delta.tool_calls : NO_CALLS;
    const isEnd = isFinished(named);
    if (given.length === 0 && !isEnd) return named;
    const calls = this.#callsOf(index);
    if (calls === undefined) return named;
    const mayHold = !isEnd && this.#heldCharacters + chunkCharacters <= MOST_HELD;
    const repaired = given.map((call) => (isObject(call) ? calls.repair(call, mayHold) : call));
    const released = isEnd ? calls.release() : NO_CALLS;
    if (released.length === 0 && repaired.every((call, at) => call === given[at])) return named;
    const written = repaired.filter((call) => call !== undefined);
    if (written.length < repaired.length) this.#heldCharacters += chunkCharacters;
    written.push(...released);
    const { tool_calls: _, ...others } = isObject(delta) ? delta : {};
    return { ...named, delta: written.length === 0 ? others : { ...others, tool_calls: written } };
  }

  /**
   * The role is in the first delta, and only there. Libraries for Python join the roles of Gemini
   * and Ollama, which are in each; LangChain loses the calls of a stream with MiniMax's empty ones.
   */
  #withRole(choice: JsonObject): JsonObject {
    const { delta, index } = choice;
    if (!isObject(delta)) return choice;
    const { role } = delta;
    if (!this.#begun.has(index) && this.#begun.size < MOST_CHOICES) {
      this.#begun.add(index);
      return role === ROLE ? choice : { ...choice, delta: { ...delta, role: ROLE } };
    }
    if (role === undefined || role === null) return choice;
    const { role: _role, ...others } = delta;
    return { ...choice, delta: others };
  }

  #callsOf(index: unknown): CallDeltas | undefined {
    const known = this.#calls.get(index);
    if (known !== undefined || this.#calls.size >= MOST_CHOICES) return known;
    const calls = new CallDeltas(this.#generationId);
    this.#calls.set(index, calls);
    return calls;
  }
}

const NO_CALLS: readonly unknown[] = [];

/** OpenAI's SDK for Node drops streamed choices without an index. */
function numbered(choice: JsonObject, at: number): JsonObject {
  return choice.index === undefined || choice.index === null ? { ...choice, index: at } : choice;
}

/** A whole response with finish reasons and roles, and calls that all clients can read. */
export function repairWhole(completion: Completion, generationId: string): Completion {
  const choices = completion.choices.map((choice) =>
    isObject(choice) ? repairedChoice(choice, generationId) : choice,
  );
  return choices.every((choice, at) => choice === completion.choices[at]) ? completion : { ...completion, choices };
}

function repairedChoice(choice: JsonObject, generationId: string): JsonObject {
  const finished = isFinished(choice) ? choice : { ...choice, finish_reason: reasonOf(choice) };
  const { message } = finished;
  if (!isObject(message)) return finished;
  const spoken = message.role === ROLE ? message : { ...message, role: ROLE };
  const repaired = withCalls(spoken, generationId);
  return repaired === message ? finished : { ...finished, message: repaired };
}

function withCalls(message: JsonObject, generationId: string): JsonObject {
  if (!Array.isArray(message.tool_calls)) return message;
  const given: readonly unknown[] = message.tool_calls;
  const tool_calls = given.map((call, at) => (isObject(call) ? wholeCall(call, generationId, at) : call));
  return tool_calls.every((call, at) => call === given[at]) ? message : { ...message, tool_calls };
}

function isFinished({ finish_reason: reason }: JsonObject): boolean {
  return reason !== '' && reason !== null && reason !== undefined;
}

function reasonOf({ message }: JsonObject): string {
  return isObject(message) && Array.isArray(message.tool_calls) && message.tool_calls.length > 0
    ? 'tool_calls'
    : 'stop';
}

function withChoices(text: string, completion: Completion, choices: readonly unknown[]): Repaired {
  return { text: editObject(text, { choices: JSON.stringify(choices) }), completion: { ...completion, choices } };
}
