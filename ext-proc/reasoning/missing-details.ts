import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * The kept entries of `reasoning_details` that a client left out, as JSON: openai-node's streams
 * keep only the last one. `undefined`: it sent all of them, or others.
 */
export function missingDetails(kept: Buffer, sent: Buffer): Buffer | undefined {
  const entries = JSON.parse(kept.toString()) as readonly JsonObject[];
  const returned = JSON.parse(sent.toString()) as readonly unknown[];
  const texts = new Set(returned.map(textOf));
  const missing = entries.filter((entry) => !texts.has(textOf(entry)));
  const isPart = missing.length > 0 && missing.length + returned.length === entries.length;
  return isPart ? Buffer.from(JSON.stringify(missing)) : undefined;
}

/** The same text for the same entry, in whatever order a client writes its members. */
function textOf(entry: unknown): string {
  if (!isObject(entry)) return JSON.stringify(entry);
  return JSON.stringify(Object.entries(entry).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
