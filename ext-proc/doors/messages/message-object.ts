import type { Envelope } from '#core/errors/refusal.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { callInput } from '../../dialects/anthropic/call-input.ts';
import { errorBody } from '../../dialects/anthropic/error-body.ts';
import { thinkingBlock } from '../../dialects/anthropic/thinking-details.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { Asked, ChargedUsage, ResponseNames } from '../door.ts';
import { sentEvent } from '../events.ts';
import { type CarriedReasoning, carry } from '../responses/carried-reasoning.ts';
import { type ChatCall, chatCall, reasoningOf, spokenText } from '../responses/output-items.ts';
import { messageUsage } from './usage.ts';

/** The members of a message that do not depend on the model's output. */
export function messageHead({ generationId, model }: ResponseNames): JsonObject {
  return { id: generationId, type: 'message', role: 'assistant', model, content: [], ...NOT_STOPPED };
}

const NOT_STOPPED = { stop_reason: null, stop_sequence: null, stop_details: null, container: null, diagnostics: null };

const STOP_REASONS: ReadonlyMap<unknown, string> = new Map([
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
]);

/** Members that tell how a message ended, from chat's finish reason and the model's output. */
export function endOf(
  finishReason: unknown,
  { refusal, hasCalls }: { refusal: string; hasCalls: boolean },
): JsonObject {
  const named = STOP_REASONS.get(finishReason) ?? (hasCalls ? 'tool_use' : 'end_turn');
  const reason = refusal === '' ? named : 'refusal';
  const explanation = refusal === '' ? null : refusal;
  const details = reason === 'refusal' ? { type: 'refusal', category: null, explanation } : null;
  return { stop_reason: reason, stop_sequence: null, stop_details: details };
}

/** A whole completion as a message, without its usage. */
export function messageOf({ choices: [choice] }: Completion, names: ResponseNames): JsonObject {
  const { message: said, finish_reason: reason } = isObject(choice) ? choice : {};
  const message = isObject(said) ? said : {};
  const content = contentOf(message, names);
  const hasCalls = content.some(({ type }) => type === 'tool_use');
  const refusal = typeof message.refusal === 'string' ? message.refusal : '';
  return { ...messageHead(names), content, ...endOf(reason, { refusal, hasCalls }) };
}

/** All blocks, in the order in which models write. Thinking precedes the item of its index. */
function contentOf(message: JsonObject, { asked }: ResponseNames): JsonObject[] {
  const { refusal, tool_calls: calls } = message;
  const thoughts = reasoningOf(message);
  const blocks: JsonObject[] = [];
  let place = 0;
  const add = (block: JsonObject | undefined) => {
    for (let next = thoughts[0]; next && (next.index <= place || block === undefined); next = thoughts[0]) {
      blocks.push(...thinkingBlocks(next, asked));
      thoughts.shift();
      place++;
    }
    if (block === undefined) return;
    blocks.push(block);
    place++;
  };
  const text = spokenText(message.content) + (typeof refusal === 'string' ? refusal : '');
  if (text !== '') add({ type: 'text', text });
  for (const call of Array.isArray(calls) ? calls.filter(isObject) : []) {
    const called = calledFunction(call);
    if (called !== undefined) add({ ...toolUse(called), input: callInput(called.input) });
  }
  add(undefined);
  return blocks;
}

/**
 * Reasoning as blocks. Reasoning of a target with the same API is unchanged. Other reasoning has as
 * its signature everything that the client must send back.
 */
function thinkingBlocks(thought: CarriedReasoning, { thinking }: Asked): JsonObject[] {
  if (thinking === undefined) return [];
  const known = thought.details.map(thinkingBlock);
  const own = known.filter((block) => block !== undefined);
  if (own.length > 0 && own.length === known.length) return own;
  const signature = carry(thought);
  if (signature === undefined) return [];
  return [{ type: 'thinking', thinking: thinking === 'omitted' ? '' : thought.text, signature }];
}

export function toolUse({ id, name }: ChatCall): JsonObject {
  return { type: 'tool_use', id, name, input: {} };
}

/** As `chatCall`, but for functions only, because Messages has no custom tools. */
export function calledFunction(call: JsonObject): ChatCall | undefined {
  const called = chatCall(call);
  return called?.type === 'function_call' ? called : undefined;
}

/** End of a failed stream. Usage precedes the error, because clients stop reading after that. */
export function failureEvents(
  error: Envelope['error'],
  { requestId }: ResponseNames,
  charged: ChargedUsage | undefined,
): string {
  const delta = { stop_reason: null, stop_sequence: null };
  const usage = charged === undefined ? '' : sentEvent('message_delta', { delta, usage: messageUsage(charged) });
  return usage + sentEvent('error', errorBody(error, requestId));
}
