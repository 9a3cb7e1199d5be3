import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { parseExactly } from '../exact-json.ts';

/** Objects and lists within each other. More than some thousand cannot be written as JSON again. */
const MOST_DEPTH = 500;

/**
 * Arguments of a call as the object that Anthropic has for them. A text that is none is sent back
 * as Anthropic's documentation of fine-grained tool streaming says, and one that is nested too
 * deeply alike: admission has looked at it as a text only.
 */
export function callInput(text: unknown): JsonObject {
  if (isObject(text)) return text;
  if (typeof text !== 'string' || text.trim() === '') return {};
  return isNestedDeeply(text) || parseObject(text) === undefined ? { INVALID_JSON: text } : parseExactly(text);
}

/** The input of a call as the text that chat completions have it in. */
export function callArguments({ input }: JsonObject): string {
  if (!isObject(input)) return '{}';
  try {
    return JSON.stringify(input);
  } catch {
    // Nesting so deep that it cannot be written: no model has made that.
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
