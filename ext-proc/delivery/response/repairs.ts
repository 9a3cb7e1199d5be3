import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import { editObject } from '../../dialects/json-members.ts';

/**
 * Repairs responses that clients cannot read. Gemini's endpoint leaves out the `index` of tool
 * calls, by which openai-python accumulates deltas. xAI's finish reason beside tools is `""`
 * (LiteLLM, xai/chat/transformation.py).
 */
export interface Repaired {
  readonly text: string;
  readonly completion: Completion;
}

/** Tool calls of one choice so far. */
interface Calls {
  readonly indexById: Map<string, number>;
  next: number;
  last: number;
}

export class ChunkRepairs {
  readonly #calls = new Map<unknown, Calls>();

  /** Returns the chunk unchanged in nearly all cases. */
  repair(text: string, completion: Completion): Repaired {
    let isRepaired = false;
    const choices = completion.choices.map((choice) => {
      const repaired = isObject(choice) ? this.#repairChoice(choice) : choice;
      isRepaired ||= repaired !== choice;
      return repaired;
    });
    return isRepaired ? withChoices(text, completion, choices) : { text, completion };
  }

  /** The finish reason for a choice that ended without one. */
  reasonFor(index: unknown): string {
    return this.#calls.has(index) ? 'tool_calls' : 'stop';
  }

  #repairChoice(choice: JsonObject): JsonObject {
    const named = choice.finish_reason === '' ? { ...choice, finish_reason: null } : choice;
    const { delta } = named;
    if (!isObject(delta) || !Array.isArray(delta.tool_calls) || delta.tool_calls.length === 0) return named;
    const calls = this.#callsOf(named.index ?? 0);
    const isIndexed = delta.tool_calls.every((call) => !isObject(call) || typeof call.index === 'number');
    const indexed = delta.tool_calls.map((call) => (isObject(call) ? withIndex(call, calls) : call));
    return isIndexed ? named : { ...named, delta: { ...delta, tool_calls: indexed } };
  }

  #callsOf(index: unknown): Calls {
    const known = this.#calls.get(index) ?? { indexById: new Map(), next: 0, last: 0 };
    this.#calls.set(index, known);
    return known;
  }
}

/** Adds the index of a call. A new id or name begins a call; other deltas continue the last one. */
function withIndex(call: JsonObject, calls: Calls): JsonObject {
  const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined;
  const known = id === undefined ? undefined : calls.indexById.get(id);
  const begins = id !== undefined || isNamed(call.function) || isNamed(call.custom) || calls.next === 0;
  const index = typeof call.index === 'number' ? call.index : (known ?? (begins ? calls.next : calls.last));
  if (id !== undefined) calls.indexById.set(id, index);
  calls.next = Math.max(calls.next, index + 1);
  calls.last = index;
  return call.index === index ? call : { index, ...call, ...('index' in call ? { index } : {}) };
}

function isNamed(called: unknown): boolean {
  return isObject(called) && typeof called.name === 'string' && called.name !== '';
}

/** Gives each choice of a response a finish reason. Returns `completion` itself if all have one. */
export function withFinishReasons(completion: Completion): Completion {
  if (completion.choices.every((choice) => !isObject(choice) || isFinished(choice))) return completion;
  const choices = completion.choices.map((choice) =>
    isObject(choice) && !isFinished(choice) ? { ...choice, finish_reason: reasonOf(choice) } : choice,
  );
  return { ...completion, choices };
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
