import type { DoorApi } from '#core/config/apis.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import { hasToolMedia } from '../../dialects/tool-media.ts';
import { type AskedModel, type Door, type InvalidField, invalid, type ReadBody } from '../door.ts';
import { hasOnlyKnown } from '../known-members.ts';
import { doorOf } from './doors.ts';
import { type Places, placesOf } from './places.ts';

/** The body of a request at a door. It can be sent to a thread. */
export interface TranslationJob {
  readonly bytes: Uint8Array;
  readonly api: DoorApi;
  readonly model: AskedModel;
  /** Fields beside the official ones. They are copied unchanged. */
  readonly extraFields: readonly string[];
}

export interface TranslatedRequest extends Pick<ReadBody, 'asked' | 'mayPass'>, Places {
  readonly kind: 'translated';
  readonly bytes: Uint8Array;
  /** Bytes that the chat form lacks of a body that may be passed on. */
  readonly unreadBytes: number;
  readonly hasToolMedia: boolean;
}

/**
 * The chat form may lack this many bytes of each item, part, call or tool: names and ids. If it
 * lacks more, the body contains something that was not counted, and is not passed on.
 */
const FRAME_BYTES = 128;

/** Only numbers with an exponent, such as `1e15`, get longer when `JSON.stringify` writes them. */
const GROWING_NUMBER = /[:,[\s]-?\d[\d.]*[eE]/;

/**
 * Also runs in a worker thread. `undefined`: there is no such door. If the translation throws, the
 * body is refused as invalid. As a failure of the gateway it would not count as a refused request.
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

/** Buffers that a thread moves to another without a copy. */
export function transferOf(result: TranslatedRequest | InvalidField | undefined): ArrayBuffer[] {
  if (result?.kind !== 'translated') return [];
  return [result.bytes, result.messages, result.tools].map(({ buffer }) => buffer as ArrayBuffer);
}

function translated({ bytes, model, extraFields }: TranslationJob, door: Door): TranslatedRequest | InvalidField {
  const { buffer, byteOffset, length } = bytes;
  const text = Buffer.from(buffer, byteOffset, length).toString();
  const body = parseExactly(text);
  const read = door.read(body, model);
  if (read.kind === 'invalid') return read;
  const { chat, asked, mayPass, messages, tools } = read;
  for (const name of extraFields) if (Object.hasOwn(body, name) && !door.fields.has(name)) chat[name] = body[name];
  // An array of its own, which a thread can transfer.
  const written = new TextEncoder().encode(JSON.stringify(chat));
  // The chat form lacks no part of a shorter body, so such a body is not serialized to compare.
  const isLonger = mayPass && (length > written.length || GROWING_NUMBER.test(text));
  // Stop sequences that chat lacks do not count, because they are not part of the prompt.
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
