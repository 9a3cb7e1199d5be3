import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { parseExactly } from '../exact-json.ts';

/** Deepest nesting of objects and lists. Some thousand levels could not be serialized again. */
const MOST_DEPTH = 500;

/**
 * Arguments of a call as the object that Anthropic requires. Text that is not an object, or is
 * nested too deeply, is wrapped as Anthropic's documentation of fine-grained tool streaming says.
 * Validation has not parsed the text.
 */
export function callInput(text: unknown): JsonObject {
  if (isObject(text)) return text;
  if (typeof text !== 'string' || text.trim() === '') return {};
  return isNestedDeeply(text) || parseObject(text) === undefined ? { INVALID_JSON: text } : parseExactly(text);
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

function isNestedDeeply(text: string): boolean {
  if (text.length <= MOST_DEPTH) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') at++;
    else if (character === '"') isInText = !isInText;
    else if (!isInText && '{['.includes(character)) depth++;
    else if (!isInText && '}]'.includes(character)) depth--;
    if (depth > MOST_DEPTH) return true;
  }
  return false;
}
