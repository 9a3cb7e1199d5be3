import { isObject, type JsonObject } from '#core/json-object.ts';
import { withReasoning } from '../chat-message.ts';
import { cacheControl, contentBlocks, textBlock, textBlocks, withCacheControl } from './blocks.ts';
import { CallIds } from './call-ids.ts';
import { callInput } from './call-input.ts';
import { thinkingBlock } from './thinking-details.ts';

/** Messages of a chat in Anthropic's form. */
export interface Conversation {
  readonly system: readonly JsonObject[];
  readonly turns: readonly Turn[];
}

/** Roles take turns, beginning with the user. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/**
 * System and developer messages are hoisted, wherever they stand. Adjacent messages of one role
 * become one turn. Names of participants have no counterpart and are left out.
 */
export function conversationOf(messages: unknown): Conversation {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const ids = new CallIds();
  for (const message of Array.isArray(messages) ? messages.filter(isObject) : []) {
    if (message.role === 'system' || message.role === 'developer') {
      for (const block of withCacheControl(textBlocks(message.content), message)) system.push(block);
    } else add(turns, message.role === 'assistant' ? 'assistant' : 'user', blocksOf(message, ids));
  }
  // Without other messages, the system message becomes the user's.
  if (turns.length === 0 && system.length > 0) return { system: [], turns: [{ role: 'user', content: system }] };
  return { system, turns: readyTurns(turns) };
}

function add(turns: Turn[], role: Turn['role'], blocks: readonly JsonObject[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role !== role) turns.push({ role, content: [...blocks] });
  // Not `push(...blocks)`: a large message has more blocks than a call may have arguments.
  else for (const block of blocks) last.content.push(block);
}

/** Is inserted before an assistant's first turn, because Anthropic requires a user's first. */
const OPENING: Turn = { role: 'user', content: [{ type: 'text', text: '.' }] };

function readyTurns(turns: readonly Turn[]): Turn[] {
  const ready = turns.map((turn, at) => {
    if (turn.role === 'user') return { ...turn, content: resultsFirst(turn.content) };
    return at === turns.length - 1 ? { ...turn, content: withoutLastSpace(turn.content) } : turn;
  });
  return ready[0]?.role === 'assistant' ? [OPENING, ...ready] : ready;
}

/** Anthropic requires the results of a turn's calls before anything else in the next turn. */
function resultsFirst(blocks: readonly JsonObject[]): JsonObject[] {
  const isResult = ({ type }: JsonObject) => type === 'tool_result';
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

/** Anthropic refuses white space at the end of a text that the model should continue. */
function withoutLastSpace(blocks: readonly JsonObject[]): JsonObject[] {
  const last = blocks.at(-1);
  if (last === undefined || typeof last.text !== 'string') return [...blocks];
  return [...blocks.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}

function blocksOf(message: JsonObject, ids: CallIds): JsonObject[] {
  switch (message.role) {
    case 'user':
      return withCacheControl(contentBlocks(message.content), message);
    case 'assistant':
      return withCacheControl(assistantBlocks(message, ids), message);
    case 'tool':
      return [toolResult(ids.answered(String(message.tool_call_id)), message)];
    case 'function':
      return [toolResult(ids.answeredUnnamed(message.name), message)];
    default:
      return [];
  }
}

function assistantBlocks(message: JsonObject, ids: CallIds): JsonObject[] {
  const { content, refusal, tool_calls: toolCalls, function_call: functionCall } = message;
  const text = [...textBlocks(content), ...textBlock(refusal, {})];
  const calls = Array.isArray(toolCalls) ? toolCalls.flatMap((call: unknown) => callBlock(call, ids)) : [];
  if (isObject(functionCall)) {
    const { name, arguments: input } = functionCall;
    calls.push(toolUse(ids.callUnnamed(name), name, callInput(input), {}));
  }
  const items = [...(text.length > 0 ? [text] : []), ...calls.map((call) => [call])];
  return withReasoning(items, message.reasoning_details, thinkingBlock);
}

function callBlock(call: unknown, ids: CallIds): JsonObject[] {
  if (!isObject(call) || typeof call.id !== 'string') return [];
  const { id, function: called, custom } = call;
  if (isObject(called)) return [toolUse(ids.call(id), called.name, callInput(called.arguments), call)];
  // Anthropic has no tools whose input is a text. Another model may have called one before.
  return isObject(custom) ? [toolUse(ids.call(id), custom.name, { input: custom.input }, call)] : [];
}

function toolUse(id: string, name: unknown, input: JsonObject, call: JsonObject): JsonObject {
  return { type: 'tool_use', id, name, input, ...cacheControl(call) };
}

/** Parts of a result cannot have a cache marker, so theirs is set on the whole result. */
function toolResult(id: string, message: JsonObject): JsonObject {
  const { content } = message;
  const blocks = contentBlocks(content);
  const marked = [message, ...blocks.toReversed()].find((place) => isObject(place.cache_control));
  const parts = typeof content === 'string' ? content : blocks.map(({ cache_control: _, ...block }) => block);
  return {
    ...{ type: 'tool_result', tool_use_id: id },
    ...(blocks.length === 0 ? {} : { content: parts }),
    ...(marked === undefined ? {} : cacheControl(marked)),
  };
}
