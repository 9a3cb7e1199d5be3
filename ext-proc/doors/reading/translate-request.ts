import type { DoorApi } from '#core/config/apis.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import { hasToolMedia } from '../../dialects/tool-media.ts';
import { type AskedModel, type Door, type InvalidField, invalid, type ReadBody } from '../door.ts';
import { hasOnlyKnown } from '../known-members.ts';
import { doorOf } from './doors.ts';
import { type Places, placesOf } from './places.ts';

/** The body of a request at a door. All of it is data. */
export interface TranslationJob {
  readonly bytes: Uint8Array;
  readonly api: DoorApi;
  readonly model: AskedModel;
  /** Fields beside the official ones, which stay as they are. */
  readonly extraFields: readonly string[];
}

/** The same as a chat completion. */
export interface TranslatedRequest extends Pick<ReadBody, 'asked' | 'mayPass'>, Places {
  readonly kind: 'translated';
  readonly bytes: Uint8Array;
  /** Bytes of a body that may pass and that the chat form lacks. */
  readonly unreadBytes: number;
  readonly hasToolMedia: boolean;
}

/**
 * So many bytes of an item, a part, a call or a tool may be missing in the chat form: its names and
 * ids. A body that lacks more has something that is not counted there, and does not pass.
 */
const FRAME_BYTES = 128;

/**
 * `1e15` is longer in what `JSON.stringify` writes than in what the client sent. Nothing else is.
 */
const GROWING_NUMBER = /[:,[\s]-?\d[\d.]*[eE]/;

/**
 * Also run in a thread. `undefined`: there is no such door. A body on which a translation breaks is
 * refused as its client's: as a failure of the gateway it would count for nothing.
 */
export function translateRequest(job: TranslationJob): TranslatedRequest | InvalidField | undefined {
  const door = doorOf(job.api);
  if (door === undefined) return undefined;
  try {
    return translated(job, door);
  } catch {
    return invalid(door.param('messages'), 'cannot be read');
  }
}

function translated({ bytes, model, extraFields }: TranslationJob, door: Door): TranslatedRequest | InvalidField {
  const { buffer, byteOffset, length } = bytes;
  const text = Buffer.from(buffer, byteOffset, length).toString();
  const body = parseExactly(text);
  const read = door.read(body, model);
  if (read.kind === 'invalid') return read;
  const { chat, asked, mayPass, messages, tools } = read;
  for (const name of extraFields) if (Object.hasOwn(body, name) && !door.fields.has(name)) chat[name] = body[name];
  // An array of its own, which a thread can hand over.
  const written = new TextEncoder().encode(JSON.stringify(chat));
  // The chat form lacks no part of a shorter body, so that body need not be written to compare.
  const isLonger = mayPass && (length > written.length || GROWING_NUMBER.test(text));
  // Chat has fewer stop sequences, and none of them is prompt.
  const compared = chat.stop === undefined ? body : { ...body, [door.param('stop')]: chat.stop };
  const lacking = isLonger ? Buffer.byteLength(JSON.stringify(compared)) - written.length : 0;
  const isWhole = lacking <= FRAME_BYTES * (1 + framesOf(chat)) && hasOnlyKnown(body, door);
  return {
    ...{ kind: 'translated', bytes: written, ...placesOf(messages, tools), asked },
    ...{ mayPass: mayPass && isWhole, unreadBytes: Math.max(0, lacking), hasToolMedia: hasToolMedia(chat) },
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
