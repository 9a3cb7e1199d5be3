import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';

/** A chat stream as a client gathers it, in the form of a whole completion. */
export interface Gathered {
  readonly message: JsonObject;
  readonly finishReason: unknown;
  readonly usage: unknown;
  readonly logprobs: unknown[];
  readonly isDone: boolean;
  readonly error: unknown;
}

export function gather(events: readonly string[]): Gathered {
  const message: JsonObject = { role: undefined, content: null, refusal: null };
  const logprobs: unknown[] = [];
  let [finishReason, usage, error]: unknown[] = [];
  for (const data of events) {
    if (data === '[DONE]') continue;
    const chunk = parseObject(data) ?? {};
    error = chunk.error ?? error;
    usage = chunk.usage ?? usage;
    const [choice] = Array.isArray(chunk.choices) ? chunk.choices : [];
    if (!isObject(choice) || !isObject(choice.delta)) continue;
    finishReason = choice.finish_reason ?? finishReason;
    if (isObject(choice.logprobs) && Array.isArray(choice.logprobs.content)) logprobs.push(...choice.logprobs.content);
    for (const [name, value] of Object.entries(choice.delta)) add(message, name, value);
  }
  return { message, finishReason, usage, logprobs, isDone: events.at(-1) === '[DONE]', error };
}

function add(message: JsonObject, name: string, value: unknown): void {
  if (value === null) return;
  if (name === 'tool_calls' && Array.isArray(value)) {
    const calls = (message.tool_calls ?? []) as JsonObject[];
    message.tool_calls = calls;
    for (const { index, ...call } of value) calls[index] = merged(calls[index] ?? {}, call);
  } else if (Array.isArray(value)) message[name] = [...((message[name] as unknown[]) ?? []), ...value];
  else if (name === 'role' || name === 'phase') message[name] = value;
  else message[name] = `${message[name] ?? ''}${value}`;
}

function merged(call: JsonObject, more: JsonObject): JsonObject {
  const both = { ...call };
  for (const [name, value] of Object.entries(more)) {
    const before = both[name];
    if (isObject(value)) both[name] = merged(isObject(before) ? before : {}, value);
    else both[name] = typeof before === 'string' ? `${before}${value}` : value;
  }
  return both;
}
