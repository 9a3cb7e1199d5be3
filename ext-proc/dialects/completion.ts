import { isObject, type JsonObject } from '#core/json-object.ts';

/** Parsed response or stream chunk with its choices. */
export interface Completion extends JsonObject {
  readonly choices: readonly unknown[];
}

/**
 * Returns `undefined` for an object without choices, unless it is a chunk with the usage. Moonshot
 * reports the usage in the last chunk of each choice (earendil-works/pi#2017).
 */
export function asCompletion(value: JsonObject): Completion | undefined {
  if (!hasChoices(value)) return isObject(value.usage) ? { ...value, choices: [] } : undefined;
  if (isObject(value.usage) || !value.choices.some(hasUsage)) return value;
  return { ...value, usage: sumOfChoices(value.choices.filter(hasUsage).map(({ usage }) => usage)) };
}

function hasUsage(choice: unknown): choice is { readonly usage: JsonObject } {
  return isObject(choice) && isObject(choice.usage);
}

/** Adds up usages of choices. Each has the same prompt, and only the output of its own choice. */
export function sumOfChoices(usages: readonly JsonObject[]): JsonObject | undefined {
  const [first, ...others] = usages;
  if (first === undefined || others.length === 0) return first;
  // A count that is no number makes the sum none either, and `readUsage` then rejects the usage.
  const count = (value: unknown) => (typeof value === 'number' ? value : Number.NaN);
  const reasoningIn = ({ completion_tokens_details: details }: JsonObject) =>
    isObject(details) ? count(details.reasoning_tokens ?? 0) : 0;
  const sum = (tokensOf: (usage: JsonObject) => number) => usages.reduce((all, usage) => all + tokensOf(usage), 0);
  const { total_tokens: _, ...counts } = first;
  return {
    ...counts,
    completion_tokens: sum(({ completion_tokens: tokens }) => count(tokens)),
    completion_tokens_details: { reasoning_tokens: sum(reasoningIn) },
  };
}

function hasChoices(value: JsonObject): value is Completion {
  return Array.isArray(value.choices);
}

/** True if a 200 has an error: as `error`, or as the finish reason that gateways like this send. */
export function hasError(value: JsonObject): boolean {
  if (value.error !== undefined && value.error !== null) return true;
  return (
    Array.isArray(value.choices) && value.choices.some((choice) => isObject(choice) && choice.finish_reason === 'error')
  );
}

/**
 * The text of one choice, for counting. All of it is billed as output. `hadReasoning`: an earlier
 * chunk of the choice had reasoning, which details repeat in a chunk of their own.
 */
export function textOf(choice: JsonObject, hadReasoning = false): string {
  const part = choice.delta ?? choice.message;
  if (!isObject(part)) return typeof choice.text === 'string' ? choice.text : '';
  const reasoning = reasoningTextOf(part) || (hadReasoning ? '' : textIn(part.reasoning_details));
  let text = textIn(part.content) + reasoning + textIn(part.refusal);
  if (Array.isArray(part.tool_calls)) {
    for (const call of part.tool_calls) text += isObject(call) ? callText(call.function) + callText(call.custom) : '';
  }
  if (part.function_call !== undefined) text += callText(part.function_call);
  return text;
}

/** True if the choice has text of reasoning outside of `reasoning_details`. */
export function hasReasoning({ delta, message }: JsonObject): boolean {
  const part = delta ?? message;
  return isObject(part) && reasoningTextOf(part) !== '';
}

/** Members with reasoning repeat the same text: mlx-vlm sends two, OpenRouter adds details. */
function reasoningTextOf(part: JsonObject): string {
  return textIn(part.reasoning_content) || textIn(part.reasoning);
}

/** Text, or that of parts. Mistral's part of reasoning has its own parts in `thinking`. */
function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value.map((part) => (isObject(part) ? partText(part) : '')).join('');
}

function partText({ text, summary, thinking }: JsonObject): string {
  if (Array.isArray(thinking))
    return thinking.map((part) => (isObject(part) ? partText({ text: part.text }) : '')).join('');
  for (const value of [text, thinking, summary]) if (typeof value === 'string') return value;
  return '';
}

function callText(call: unknown): string {
  if (!isObject(call)) return '';
  return [call.name, call.arguments, call.input].filter((text) => typeof text === 'string').join('');
}
