import { isObject, type JsonObject } from '#core/json-object.ts';
import { parseJson } from '#core/parse-json.ts';
import type { CalledTool } from '../dialects/chat-message.ts';
import type { Steps } from '../fairness/steps.ts';

export const MAX_CALLS = 128;
/** Usual ids have 20 to 64 characters. */
const LONGEST_ID = 512;
/** Most characters of the names and inputs in one message. */
export const LONGEST_INPUT = 256 * 1024;
/** Longer arguments are compared as text, because parsing them would take milliseconds. */
const LONGEST_ARGUMENTS = 16 * 1024;

/** Calls of a message that a client has sent. `undefined`: their form is unknown. */
export function calledTools(toolCalls: unknown): readonly CalledTool[] | undefined {
  if (!Array.isArray(toolCalls) || toolCalls.length > MAX_CALLS) return undefined;
  const calls = toolCalls.map(calledTool);
  return calls.every((call) => call !== undefined) ? calls : undefined;
}

function calledTool(call: unknown): CalledTool | undefined {
  if (!isObject(call) || typeof call.id !== 'string') return undefined;
  const { id, function: called, custom } = call;
  if (isObject(called)) return namedTool('function', id, called.name, called.arguments);
  return isObject(custom) ? namedTool('custom', id, custom.name, custom.input) : undefined;
}

function namedTool(type: CalledTool['type'], id: string, name: unknown, input: unknown): CalledTool | undefined {
  return typeof name === 'string' && typeof input === 'string' ? { type, id, name, input } : undefined;
}

/**
 * The same text for the same calls, however a client serializes their arguments: LangChain and
 * others parse and rewrite them, with other white space, escapes and order. `undefined`: there are
 * no calls, or more than can be compared.
 */
export function* textOfCalls(calls: readonly CalledTool[]): Steps<string | undefined> {
  if (calls.length === 0 || calls.length > MAX_CALLS) return undefined;
  if (calls.some(({ id }) => id === '' || id.length > LONGEST_ID)) return undefined;
  const inputCharacters = calls.reduce((sum, { name, input }) => sum + name.length + input.length, 0);
  if (inputCharacters > LONGEST_INPUT) return undefined;
  const texts: string[] = [];
  for (const { type, id, name, input } of calls) {
    const isAsWritten = type === 'custom' || input.length > LONGEST_ARGUMENTS;
    texts.push(JSON.stringify([id, name, isAsWritten ? input : sameArguments(input)]));
    yield;
  }
  return texts.join();
}

/** Arguments as a value with sorted members, or the text itself if it is not JSON. */
function sameArguments(text: string): unknown {
  try {
    // Clients send a call without arguments back with an empty object.
    return inOrder(parseJson(text.trim() === '' ? '{}' : text), 0);
  } catch {
    return text;
  }
}

const DEEPEST = 128;

function inOrder(value: unknown, depth: number): unknown {
  if (depth > DEEPEST) throw new Error('nested too deep to be compared');
  if (Array.isArray(value)) return value.map((one) => inOrder(one, depth + 1));
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  // Pairs, because an object puts numeric names first.
  return { members: names.map((name) => [name, inOrder((value as JsonObject)[name], depth + 1)]) };
}
