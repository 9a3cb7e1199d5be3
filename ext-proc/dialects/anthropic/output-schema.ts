import { isObject, type JsonObject } from '#core/json-object.ts';

/** Members of a schema that are schemas, lists of them, or objects of them. */
const ONE = ['items', 'additionalItems', 'not', 'if', 'then', 'else'] as const;
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const;
const NAMED = ['properties', '$defs', 'definitions'] as const;

/** Schemas that are nested deeper are left as they are. */
const MOST_DEPTH = 100;

/**
 * Adds `additionalProperties: false` to each object whose schema leaves it open, because Anthropic
 * refuses open objects. Whatever the closed schema allows, the open one allows too.
 */
export function closedSchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > MOST_DEPTH) return schema;
  const closed = (value: unknown) => (isObject(value) ? closedSchema(value, depth + 1) : value);
  const all: JsonObject = { ...schema };
  for (const name of ONE) if (isObject(all[name])) all[name] = closed(all[name]);
  for (const name of LISTS) {
    const list = all[name];
    if (Array.isArray(list)) all[name] = list.map(closed);
  }
  for (const name of NAMED) {
    const named = all[name];
    if (isObject(named)) {
      all[name] = Object.fromEntries(Object.entries(named).map(([key, value]) => [key, closed(value)]));
    }
  }
  const isOpen = isObject(all.properties) && all.additionalProperties === undefined;
  return isOpen ? { ...all, additionalProperties: false } : all;
}
