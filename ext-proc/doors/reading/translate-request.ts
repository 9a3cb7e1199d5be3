import type { DoorApi } from '#core/config/apis.ts';
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
}

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
  const { kind: _, chat, ...more } = read;
  for (const name of extraFields) if (Object.hasOwn(body, name) && !door?.fields.has(name)) chat[name] = body[name];
  // An array of its own, which a thread can hand over.
  return { ...more, kind: 'translated', bytes: new TextEncoder().encode(JSON.stringify(chat)) };
}
