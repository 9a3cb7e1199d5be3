import type { JsonObject } from '../../core/json-object.ts';

/** `JSON` as Node has it, with what the types of this language level lack. */
interface SourceTextJson {
  parse(
    text: string,
    revive: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

/** A run of digits that may be too many for a double. Texts have it too, which costs time only. */
const MANY_DIGITS = /\d{16}|\d[eE]\+?\d{2}/;

/**
 * The object of a body that was validated. `JSON.stringify` writes its numbers as they were sent:
 * integers above 2^53, as JSON Schemas of 64-bit integers have them, stay what they are.
 */
export function parseExactly(text: string): JsonObject {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text) as JsonObject;
  const json = JSON as unknown as SourceTextJson;
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isExact(value) ? json.rawJSON(source) : value,
  ) as JsonObject;
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
