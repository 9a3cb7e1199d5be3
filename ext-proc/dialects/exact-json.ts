import '#core/exact-number.ts';
import type { JsonObject } from '#core/json-object.ts';
import { parseJson } from '#core/parse-json.ts';

/**
 * Finds a number that a double may not hold: with 16 digits, or with an exponent. Ids that consist
 * of digits are strings and do not match. Without this test each value would be visited, which
 * takes seven times as long as the parse.
 */
const LARGE_NUMBER = /[:,[\s]-?(?:\d{16}|\d+(?:\.\d+)?[eE]\+?\d{2})/;

/** Parses a validated body. Integers above 2^53 keep their value when they are written again. */
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
