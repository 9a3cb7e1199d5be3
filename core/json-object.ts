/** An object as JSON.parse returns it. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in `text`; `undefined` when it is not JSON or not an object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The object or array in `text`; the text itself when it is no JSON. */
export function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The members that are numbers. */
export function numbersIn(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === 'number'));
}
