import { isObject, type JsonObject } from '#core/json-object.ts';

/**
 * The kept entries of `reasoning_details` that a client left out, as JSON: openai-node's streams
 * keep only the last one. `undefined`: it sent all of them, or others. A client may send far more
 * than was kept, so counts and sizes are compared first.
 */
export function missingDetails(kept: Buffer, sent: Buffer): Buffer | undefined {
  if (sent.length > MOST_ESCAPED * kept.length) return undefined;
  const entries = JSON.parse(kept.toString()) as readonly JsonObject[];
  const returned = JSON.parse(sent.toString()) as readonly unknown[];
  const most = Math.max(...entries.map(membersOf));
  if (returned.length >= entries.length || returned.some((entry) => membersOf(entry) > most)) return undefined;
  const texts = new Set(returned.map(textOf));
  const missing = entries.filter((entry) => !texts.has(textOf(entry)));
  const isPart = missing.length > 0 && missing.length + returned.length === entries.length;
  return isPart ? Buffer.from(JSON.stringify(missing)) : undefined;
}

/** How much longer the JSON of a client can be. Python escapes letters of two bytes as six. */
const MOST_ESCAPED = 4;

function membersOf(entry: unknown): number {
  return isObject(entry) ? Object.keys(entry).length : 0;
}

/** The same text for the same entry, in whatever order a client writes its members. */
function textOf(entry: unknown): string {
  if (!isObject(entry)) return JSON.stringify(entry);
  return JSON.stringify(Object.entries(entry).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
