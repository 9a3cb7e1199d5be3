import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { withReasoning } from '../chat-message.ts';
import { inputContent, refusalPart, spokenParts, textPart } from './input-parts.ts';
import { reasoningItem } from './reasoning-details.ts';

/**
 * Messages as input items. An assistant's message becomes several: its reasoning, its text, and
 * each of its tool calls. Names of participants have no counterpart and are left out.
 */
export function inputItems(messages: unknown): JsonObject[] {
  if (!Array.isArray(messages)) return [];
  const calls = new KnownCalls();
  return messages.filter(isObject).flatMap((message) => itemsOf(message, calls));
}

/** Calls so far. A result does not say whether its call was custom, nor, in old form, its id. */
class KnownCalls {
  readonly #custom = new Set<string>();
  /** Id of the latest call of each function by name, for the deprecated form without ids. */
  readonly #unnamed = new Map<unknown, string>();
  #counter = 0;

  addCustom(id: string): void {
    this.#custom.add(id);
  }

  isCustom(id: string): boolean {
    return this.#custom.has(id);
  }

  addUnnamed(name: unknown): string {
    const id = `function_call_${++this.#counter}`;
    this.#unnamed.set(name, id);
    return id;
  }

  unnamed(name: unknown): string {
    return this.#unnamed.get(name) ?? this.addUnnamed(name);
  }
}

function itemsOf(message: JsonObject, calls: KnownCalls): JsonObject[] {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return [{ type: 'message', role: message.role, content: inputContent(message.content) }];
    case 'assistant':
      return assistantItems(message, calls);
    case 'tool':
      return [toolResult(message, calls)];
    case 'function':
      return [functionOutput(calls.unnamed(message.name), message.content)];
    default:
      return [];
  }
}

function assistantItems(message: JsonObject, calls: KnownCalls): JsonObject[] {
  const { tool_calls: toolCalls, function_call: functionCall } = message;
  const called = Array.isArray(toolCalls) ? toolCalls.flatMap((call: unknown) => callItem(call, calls)) : [];
  if (isObject(functionCall)) {
    called.push(functionItem(calls.addUnnamed(functionCall.name), functionCall));
  }
  const items = [...textItem(message), ...called].map((item) => [item]);
  return withReasoning(items, message.reasoning_details, reasoningItem);
}

/** Empty text means that there was no text. */
function textItem(message: JsonObject): JsonObject[] {
  const { content, refusal } = message;
  const item = { type: 'message', role: 'assistant', ...phaseOf(message) };
  if (typeof refusal === 'string') {
    const before = typeof content === 'string' && content !== '' ? [textPart(content)] : [];
    const parts = Array.isArray(content) ? spokenParts(content) : before;
    return [{ ...item, content: [...parts, refusalPart(refusal)] }];
  }
  if (typeof content === 'string') return content === '' ? [] : [{ ...item, content }];
  const parts = Array.isArray(content) ? spokenParts(content) : [];
  return parts.length === 0 ? [] : [{ ...item, content: parts }];
}

/** OpenAI wants a message's phase back, because models do worse without it. Both APIs have it. */
function phaseOf({ phase }: JsonObject): JsonObject {
  return phase === 'commentary' || phase === 'final_answer' ? { phase } : {};
}

function callItem(call: unknown, calls: KnownCalls): JsonObject[] {
  if (!isObject(call) || typeof call.id !== 'string') return [];
  const { id, custom } = call;
  if (isObject(call.function)) return [functionItem(callId(id), call.function)];
  if (!isObject(custom)) return [];
  calls.addCustom(id);
  return [{ type: 'custom_tool_call', call_id: callId(id), name: custom.name, input: custom.input }];
}

function functionItem(id: string, called: JsonObject): JsonObject {
  return { type: 'function_call', call_id: id, name: called.name, arguments: called.arguments };
}

function toolResult({ tool_call_id, content }: JsonObject, calls: KnownCalls): JsonObject {
  const id = typeof tool_call_id === 'string' ? tool_call_id : '';
  if (!calls.isCustom(id)) return functionOutput(callId(id), content);
  return { type: 'custom_tool_call_output', call_id: callId(id), output: inputContent(content) };
}

function functionOutput(id: string, content: unknown): JsonObject {
  return { type: 'function_call_output', call_id: id, output: inputContent(content) };
}

const LONGEST_CALL_ID = 64;

/** OpenAI refuses longer ids. Other models make some, because they put signatures into them. */
function callId(id: string): string {
  return id.length <= LONGEST_CALL_ID ? id : createHash('sha256').update(id).digest('hex');
}
