import type { DoorApi } from '#core/config/apis.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import type { AskedModel, InvalidField, ReadBody } from '../door.ts';
import { doorOf } from './doors.ts';

/** The body of a request at a door. All of it is data. */
export interface TranslationJob {
  readonly bytes: Uint8Array;
  readonly api: DoorApi;
  readonly model: AskedModel;
  /** Fields beside the official ones, which stay as they are. */
  readonly extraFields: readonly string[];
}

/** The same as a chat completion. */
export interface TranslatedRequest extends Omit<ReadBody, 'kind' | 'chat'> {
  readonly kind: 'translated';
  readonly bytes: Uint8Array;
  /** Bytes of a body that may pass and that the chat form lacks. */
  readonly unreadBytes: number;
}

/**
 * So many bytes of an item, a part, a call or a tool may be missing in the chat form: its names and
 * ids. A body that lacks more has something that is not counted there, and does not pass.
 */
const FRAME_BYTES = 200;

/** Also run in a thread. `undefined`: there is no such door. */
export function translateRequest({
  bytes,
  api,
  model,
  extraFields,
}: TranslationJob): TranslatedRequest | InvalidField | undefined {
  const { buffer, byteOffset, length } = bytes;
  const body = parseExactly(Buffer.from(buffer, byteOffset, length).toString());
  const door = doorOf(api);
  const read = door?.read(body, model);
  if (read === undefined || read.kind === 'invalid') return read;
  const { kind: _, chat, mayPass, ...more } = read;
  for (const name of extraFields) if (Object.hasOwn(body, name) && !door?.fields.has(name)) chat[name] = body[name];
  // An array of its own, which a thread can hand over.
  const translated = new TextEncoder().encode(JSON.stringify(chat));
  const lacking = mayPass ? Buffer.byteLength(JSON.stringify(body)) - translated.length : 0;
  const isWhole = lacking <= FRAME_BYTES * (1 + framesOf(chat)) && !hasOtherCase(body, true);
  return {
    ...more,
    ...{ kind: 'translated', bytes: translated, mayPass: mayPass && isWhole, unreadBytes: Math.max(0, lacking) },
  };
}

function framesOf({ messages, tools }: JsonObject): number {
  let frames = listOf(tools).length;
  for (const message of listOf(messages).filter(isObject)) {
    const { content, tool_calls: calls, reasoning_details: details } = message;
    frames += 1 + listOf(content).length + listOf(calls).length + listOf(details).length;
  }
  return frames;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Members whose content has names of its own. `input` is that of a call. */
const FREE: ReadonlySet<string> = new Set([
  ...['parameters', 'input_schema', 'schema', 'input', 'input_examples', 'metadata', 'client_metadata'],
]);

/**
 * True if a name is written in another case than the API's. Some servers read it all the same, and
 * the door has not judged it.
 */
function hasOtherCase(value: unknown, isBody = false): boolean {
  if (Array.isArray(value)) return value.some((one) => hasOtherCase(one));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, member]) => {
    if (name !== name.toLowerCase()) return true;
    return (!FREE.has(name) || (isBody && name === 'input')) && hasOtherCase(member);
  });
}
