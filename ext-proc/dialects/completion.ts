import { isObject, type JsonObject } from '#core/json-object.ts';

/** Parsed response or stream chunk with its choices. */
export interface Completion extends JsonObject {
  readonly choices: readonly unknown[];
}

/**
 * Returns `undefined` for an object without choices, unless it is a chunk with the usage. Streams
 * of Moonshot have the usage inside the choice of the last chunk (earendil-works/pi#2017).
 */
export function asCompletion(value: JsonObject): Completion | undefined {
  if (!hasChoices(value)) return isObject(value.usage) ? { ...value, choices: [] } : undefined;
  const [first] = value.choices;
  return isObject(first) && isObject(first.usage) && !isObject(value.usage) ? { ...value, usage: first.usage } : value;
}

function hasChoices(value: JsonObject): value is Completion {
  return Array.isArray(value.choices);
}

/**
 * True if the provider put an error into a 200: as `error`, or as the finish reason that gateways
 * such as this one send.
 */
export function hasError(value: JsonObject): boolean {
  if (value.error !== undefined && value.error !== null) return true;
  return (
    Array.isArray(value.choices) && value.choices.some((choice) => isObject(choice) && choice.finish_reason === 'error')
  );
}

/** Fields of output in `message` and `delta`. All of them are billed as output. */
const TEXT_FIELDS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;

/** The text of one choice, for counting. */
export function textOf(choice: JsonObject): string {
  const part = choice.delta ?? choice.message;
  if (!isObject(part)) return typeof choice.text === 'string' ? choice.text : '';
  let text = '';
  for (const field of TEXT_FIELDS) {
    const value = part[field];
    if (typeof value === 'string') text += value;
    else if (Array.isArray(value)) text += partsText(value);
  }
  if (Array.isArray(part.tool_calls)) {
    for (const call of part.tool_calls) text += isObject(call) ? callText(call.function) + callText(call.custom) : '';
  }
  if (part.function_call !== undefined) text += callText(part.function_call);
  return text;
}

function partsText(parts: readonly unknown[]): string {
  return parts.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('');
}

function callText(call: unknown): string {
  if (!isObject(call)) return '';
  return [call.name, call.arguments, call.input].filter((text) => typeof text === 'string').join('');
}
