/** An object as JSON.parse returns it. */
export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in `text`. `undefined`: the text is not JSON or not an object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON value in `text`, or the text itself if it is not JSON. */
export function parseError(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function numbersIn(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === 'number'));
}
