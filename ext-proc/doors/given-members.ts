import { isObject, type JsonObject } from '#core/json-object.ts';

/** Clients may write null for what they leave out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function givenMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isGiven(value)));
}

/** Of a turn, a block, an item or a tool. Those of the official APIs have fewer than twelve. */
const MOST_MEMBERS = 64;
export const NOT_AN_ELEMENT = `must be an object of at most ${MOST_MEMBERS} members`;

/**
 * An object in a list of a request. To copy one of thousands of members takes ten times as long as
 * to read a text of its length.
 */
export function isElement(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length <= MOST_MEMBERS;
}
