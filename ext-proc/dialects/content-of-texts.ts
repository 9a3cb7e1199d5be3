import type { JsonObject } from '#core/json-object.ts';

/** Joins plain texts to one string, because some providers accept lists only from users. */
export function asContent(parts: readonly JsonObject[]): unknown {
  const texts = parts.map((part) => (isPlainText(part) ? part.text : undefined));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n\n') : parts;
}

function isPlainText(part: JsonObject): boolean {
  return part.type === 'text' && Object.keys(part).length === 2;
}
