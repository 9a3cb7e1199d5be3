import '#core/config/exact-number.ts';
import type { JsonObject } from '#core/json-object.ts';
import { parseJson } from '#core/parse-json.ts';

/**
 * A number that a double may not hold: of 16 digits, or with an exponent. Ids have such digits
 * within a text. They do not count, because visiting each value takes seven times as long as the
 * parse.
 */
const LARGE_NUMBER = /[:,[\s]-?(?:\d{16}|\d+(?:\.\d+)?[eE]\+?\d{2})/;

/**
 * The object of a body that was validated. `JSON.stringify` writes its numbers as they were sent:
 * integers above 2^53, as JSON Schemas of 64-bit integers have them, stay what they are.
 */
export function parseExactly(text: string): JsonObject {
  const revive = LARGE_NUMBER.test(text) ? exactly : undefined;
  return parseJson(text, revive) as JsonObject;
}

function exactly(value: unknown, source: string): unknown {
  return typeof value === 'number' && !isExact(value) ? JSON.rawJSON(source) : value;
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
