import type { JsonObject } from '#core/json-object.ts';

/** Clients may write null for what they leave out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function givenMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isGiven(value)));
}
