import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { parseExactly } from '../exact-json.ts';
import { isNestedDeeply } from '../json-members.ts';

/**
 * Arguments of a call as the object that Anthropic requires. Text that is not an object, or is
 * nested too deeply, is wrapped as Anthropic's documentation of fine-grained tool streaming says.
 * Validation has not parsed the text.
 */
export function callInput(text: unknown): JsonObject {
  if (isObject(text)) return text;
  if (typeof text !== 'string' || text.trim() === '') return {};
  return parseObject(text) === undefined || isNestedDeeply(text) ? { INVALID_JSON: text } : parseExactly(text);
}

/** The input of a call as JSON text, as in chat completions. */
export function callArguments({ input }: JsonObject): string {
  if (!isObject(input)) return '{}';
  try {
    return JSON.stringify(input);
  } catch {
    // The nesting is too deep to be serialized. No model writes such an input.
    return '{}';
  }
}
