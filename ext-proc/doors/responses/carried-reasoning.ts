import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { JsonScan } from '../../chat/json/json-scan.ts';

/**
 * Reasoning of a target that speaks another API. The client gets it as the `encrypted_content` of a
 * reasoning item and sends it back unchanged. Then it is read as what a chat client would have sent
 * back.
 */
export interface CarriedReasoning {
  readonly details: readonly JsonObject[];
  /** `reasoning_content`, where there are no details. */
  readonly text: string;
}

const PREFIX = 'gw1.';

/** `undefined`: there is nothing to send back. */
export function carry({ details, text }: CarriedReasoning): string | undefined {
  if (details.length === 0 && text === '') return undefined;
  const carried = details.length > 0 ? { details } : { content: text };
  return PREFIX + Buffer.from(JSON.stringify(carried)).toString('base64url');
}

export function isCarried(encrypted: unknown): encrypted is string {
  return typeof encrypted === 'string' && encrypted.startsWith(PREFIX);
}

/** More entries than any message has. */
const MOST_DETAILS = 256;
const MOST_VALUES = 16_384;

/** Applies the bounds of a body, whose own scan does not see into the encoded text. */
function isBounded(json: Buffer): boolean {
  const scan = new JsonScan(json, MOST_VALUES);
  while (!scan.step());
  return scan.result().kind === 'object';
}

/** Removes nested members, which no entry has. */
function flat(detail: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(detail).filter(([, value]) => isFlat(value)));
}

function isFlat(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string');
  return !isObject(value);
}

/** Reads a text from a client. Text that is not ours, or not whole, contains nothing. */
export function carriedIn(encrypted: string): CarriedReasoning {
  const json = Buffer.from(encrypted.slice(PREFIX.length), 'base64url');
  const carried = isBounded(json) ? parseObject(json.toString()) : undefined;
  return {
    details: Array.isArray(carried?.details) ? carried.details.slice(0, MOST_DETAILS).filter(isObject).map(flat) : [],
    text: typeof carried?.content === 'string' ? carried.content : '',
  };
}

/** Members of an entry that may arrive in pieces. */
const TEXTS = ['text', 'data', 'summary'] as const;

/** True if the next entries belong to the same reasoning. */
export function continuesReasoning(
  { details }: { readonly details: readonly JsonObject[] },
  next: readonly JsonObject[],
) {
  const last = details.at(-1);
  return last === undefined || next.some((entry) => continues(last, entry));
}

/** Adds an entry, or a piece of the last one. */
export function addDetail(details: JsonObject[], entry: JsonObject): void {
  const last = details.at(-1);
  if (last === undefined || !continues(last, entry)) {
    details.push({ ...entry });
    return;
  }
  for (const [name, value] of Object.entries(entry)) {
    const isText = TEXTS.some((text) => text === name) && typeof value === 'string' && typeof last[name] === 'string';
    last[name] = isText ? `${last[name]}${value}` : value;
  }
}

function continues(last: JsonObject, entry: JsonObject): boolean {
  return last.type === entry.type && last.index === entry.index && entry.index !== undefined;
}
