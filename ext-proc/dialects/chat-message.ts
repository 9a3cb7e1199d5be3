import { cutText } from '#core/cut-text.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';

/** A tool call, in a form for all APIs. */
export interface CalledTool {
  readonly type: 'function' | 'custom';
  readonly id: string;
  readonly name: string;
  /** Arguments of a function, or the input of a custom tool. */
  readonly input: string;
}

/** The call in the form of chat completions. `input` may be only the beginning of the input. */
export function toolCall({ type, id, name, input }: CalledTool): JsonObject {
  return {
    id,
    type,
    ...(type === 'function' ? { function: { name, arguments: input } } : { custom: { name, input } }),
  };
}

/** Separates texts of different messages, and parts of the reasoning. */
export const BLANK_LINE = '\n\n';

/** Removes the blank line by which chat's single text separates two messages or blocks. */
export function withoutBlankLine(text: string): string {
  return text.startsWith(BLANK_LINE) ? text.slice(BLANK_LINE.length) : text;
}

/** Counts the items of a message so far. The count is the index of the next reasoning item. */
export class MessageItems {
  reasoning = 0;
  /** Text and refusal are one item. */
  hasText = false;
  calls = 0;

  get count(): number {
    return this.reasoning + Number(this.hasText) + this.calls;
  }
}

/** Builds an assistant's message from the items of another API. */
export class WholeMessage {
  readonly items = new MessageItems();
  readonly #reasoning: string[] = [];
  readonly #details: JsonObject[] = [];
  readonly #calls: JsonObject[] = [];

  addCall(call: JsonObject): void {
    this.items.calls++;
    this.#calls.push(call);
  }

  addReasoning(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#reasoning.push(text);
  }

  /** Adds an entry of `reasoning_details`; `undefined`: the item has none. */
  addDetail(detail: JsonObject | undefined): void {
    if (detail === undefined) return;
    this.items.reasoning++;
    this.#details.push(detail);
  }

  /** `said`: what the assistant says, as members of the message. Nothing is an empty text. */
  message(said: JsonObject): JsonObject {
    const isSilent = said.content === null && said.refusal === null && this.#calls.length === 0;
    return {
      role: 'assistant',
      ...said,
      ...(isSilent ? { content: '' } : {}),
      ...(this.#reasoning.length === 0 ? {} : { reasoning_content: this.#reasoning.join(BLANK_LINE) }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    };
  }
}

/**
 * Inserts reasoning at its former places among the items of a message. Each item is a list of
 * parts. Providers refuse reasoning that nothing follows, so none is put at the end, and a message
 * without other items gets none. `reasoningIn` returns `undefined` for an entry of another API.
 */
export function withReasoning(
  items: readonly (readonly JsonObject[])[],
  details: unknown,
  reasoningIn: (detail: JsonObject) => JsonObject | undefined,
): JsonObject[] {
  const reasoning = (Array.isArray(details) ? details : []).flatMap((detail: unknown) => {
    const part = isObject(detail) ? reasoningIn(detail) : undefined;
    return part === undefined || !isObject(detail) ? [] : [{ place: placeOf(detail), part }];
  });
  reasoning.sort((one, other) => one.place - other.place);
  const merged: JsonObject[] = [];
  let [next, place] = [0, 0];
  for (const [position, item] of items.entries()) {
    const isLast = position === items.length - 1;
    for (let one = reasoning[next]; one && (isLast || one.place <= place); one = reasoning[++next]) {
      merged.push(one.part);
      place++;
    }
    for (const part of item) merged.push(part);
    place++;
  }
  return merged;
}

function placeOf({ index }: JsonObject): number {
  return typeof index === 'number' && Number.isFinite(index) ? index : 0;
}

/** Longest id and model that are repeated in every chunk. */
const LONGEST_NAME = 200;

/** First members of a completion, and of each chunk. */
export interface CompletionHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

/** `created` is the present if the provider sends no time of creation. */
export function headOf({ id, created_at: created, model }: JsonObject): CompletionHead {
  return {
    id: typeof id === 'string' ? cutText(id, LONGEST_NAME) : '',
    created: Math.floor(typeof created === 'number' && Number.isFinite(created) ? created : Date.now() / 1000),
    model: typeof model === 'string' ? cutText(model, LONGEST_NAME) : '',
  };
}

/** The translation of a body that is not a response. */
export const NO_COMPLETION: JsonObject = {};

/** `choice`: the only choice, without its index. `tier`: the member `service_tier`, if any. */
export function wholeCompletion(
  { id, created, model }: CompletionHead,
  choice: JsonObject,
  usage: JsonObject | undefined,
  tier: JsonObject,
): JsonObject {
  return {
    ...{ id, object: 'chat.completion', created, model, choices: [{ index: 0, ...choice }] },
    ...(usage === undefined ? {} : { usage }),
    ...tier,
  };
}

const LONGEST_TIER = 64;

/** The tier that served a response, as a member of the completion. */
export function tierMember(tier: unknown): JsonObject {
  return typeof tier === 'string' ? { service_tier: cutText(tier, LONGEST_TIER) } : {};
}
