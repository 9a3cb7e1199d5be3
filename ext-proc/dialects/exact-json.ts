import '#core/config/exact-number.ts';
import type { JsonObject } from '#core/json-object.ts';
import { parseJson } from '#core/parse-json.ts';

/** A run of digits that may be too many for a double. Texts have it too, which costs time only. */
const MANY_DIGITS = /\d{16}|\d[eE]\+?\d{2}/;

/**
 * The object of a body that was validated. `JSON.stringify` writes its numbers as they were sent:
 * integers above 2^53, as JSON Schemas of 64-bit integers have them, stay what they are.
 */
export function parseExactly(text: string): JsonObject {
  const revive = MANY_DIGITS.test(text) ? exactly : undefined;
  return parseJson(text, revive) as JsonObject;
}

function exactly(value: unknown, source: string): unknown {
  return typeof value === 'number' && !isExact(value) ? JSON.rawJSON(source) : value;
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
