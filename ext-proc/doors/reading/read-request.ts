import type { ExtraFieldType } from '#core/config/gateway-config.ts';
import { isRefusal, LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import { noteCacheMarkers } from '../../chat/cache-writes.ts';
import { type CacheWrites, invalidField } from '../../chat/chat-facts.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import type { InTurns } from '../../chat/choose-model.ts';
import { NO_EXTRA_FIELDS } from '../../chat/extra-fields.ts';
import { SPACE } from '../../chat/json/json-bytes.ts';
import { JsonCursor, type Span } from '../../chat/json/json-cursor.ts';
import type { BodyField } from '../../chat/provider-body.ts';
import { type BodyForm, LONGEST_MODEL, MESSAGES, readChatRequest } from '../../chat/read-chat-request.ts';
import { scanBody } from '../../chat/scan-body.ts';
import { together } from '../../chat/tokens/input-tokens.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import type { Steps } from '../../fairness/steps.ts';
import type { Door } from '../door.ts';
import { renamed } from '../refusal-at-door.ts';
import { RequestAtDoor } from '../request-at-door.ts';
import type { DoorTranslator } from './door-translator.ts';
import { placeOf } from './places.ts';
import { storedIds } from './stored-ids.ts';

export interface SentRequest {
  /** Form of a body that comes through no door. Absent: a chat completion. */
  readonly form?: BodyForm;
  readonly body: Buffer;
  readonly contentEncoding: string | undefined;
  readonly extraFields?: ReadonlyMap<string, ExtraFieldType> | undefined;
  readonly organizationId: string;
  header(name: string): string | undefined;
  /** True if the client has left. */
  isGone(): boolean;
  /** Efforts of a model by its name. Empty if there is no such model. */
  reasoningEfforts(model: string): readonly string[];
  /** Memory of the request's body. */
  readonly memory: Pick<MemoryReservation, 'take'>;
}

/** The facts of a request, and what is known of it at its door. */
export interface ReadRequest {
  readonly kind: 'read';
  readonly chat: ChatRequest;
  /** Absent: it came through no door. */
  readonly atDoor?: RequestAtDoor;
}

/** Refusal of a body that took a thread longer than honest bodies do, or broke it. */
const TOO_MUCH = 'takes too long to read; send a smaller body';

/** Reads and checks the body of a request at any door. `undefined`: the client left. */
export async function readRequest(
  door: Door | undefined,
  sent: SentRequest,
  translator: DoorTranslator,
  inTurns: InTurns,
): Promise<ReadRequest | Refusal | undefined> {
  const { form, body, contentEncoding, extraFields } = sent;
  if (door === undefined) {
    const chat = await inTurns(readChatRequest(body, contentEncoding, extraFields, form));
    return chat === undefined || isRefusal(chat) ? chat : { kind: 'read', chat };
  }
  const own = await inTurns(readFields(door, sent));
  if (own === undefined || isRefusal(own)) return own;
  const model = { reasoningEfforts: sent.reasoningEfforts(own.model) };
  const job = { api: door.api, model, extraFields: [...(extraFields?.keys() ?? [])] };
  const read = await translator.translate(body, job, sent);
  if (read === undefined) return sent.isGone() ? undefined : invalidField(door.param('messages'), TOO_MUCH);
  if (read.kind === 'invalid') return invalidField(read.param, read.requirement);
  const bytes = Buffer.from(read.bytes.buffer, read.bytes.byteOffset, read.bytes.length);
  if (!sent.memory.take(bytes.length)) return refuse('no_capacity');
  const chat = await inTurns(readChatRequest(bytes, undefined, extraFields));
  if (chat === undefined) return undefined;
  const name = (param: string) => door.param(placeOf(param, read));
  if (isRefusal(chat)) return renamed(chat, name);
  const { asked, mayPass, unreadBytes, hasToolMedia } = read;
  const atDoor = new RequestAtDoor(
    door,
    { asked, mayPass, hasToolMedia, headers: passedHeaders(door, sent) },
    { bytes: body, fields: own.fields },
  );
  return { kind: 'read', chat: atItsDoor(mayPass ? heldFor(chat, unreadBytes) : chat, own, atDoor, name), atDoor };
}

/** Raises the hold for passed bytes that the chat form lacks: at most one token for each byte. */
function heldFor(chat: ChatRequest, bytes: number): ChatRequest {
  const passed = { estimate: 0, ceiling: bytes, normalizedCeiling: bytes };
  return { ...chat, inputTokens: together(chat.inputTokens, passed) };
}

function passedHeaders({ headers = [] }: Door, { header }: SentRequest): ReadonlyMap<string, string> {
  const passed = new Map<string, string>();
  for (const name of headers) {
    const value = header(name);
    if (value !== undefined && value !== '') passed.set(name, value);
  }
  return passed;
}

/** What is read of the client's own body. */
interface OwnBody {
  /** The top-level members that are not null. */
  readonly fields: readonly BodyField[];
  readonly model: string;
  /** Cache markers anywhere in the body, which may be passed on to a provider. */
  readonly cacheWrites?: CacheWrites;
}

function* readFields(
  door: Door,
  { body, contentEncoding, extraFields = NO_EXTRA_FIELDS }: SentRequest,
): Steps<OwnBody | Refusal> {
  const has = (name: string) => door.fields.has(name) || extraFields.has(name);
  const scanned = yield* scanBody(body, contentEncoding, { has: (_, text) => has(text()), cures: door.cures });
  if (isRefusal(scanned)) return scanned;
  const fields: BodyField[] = [];
  const marked: { cacheWrites?: CacheWrites } = {};
  let ids: readonly Span[] = [];
  const messages = door.param('messages');
  let hasMessages = false;
  let model = '';
  const cursor = new JsonCursor(scanned);
  cursor.eachMember(() => {
    const { keyStart: start, start: valueStart, end } = cursor;
    if (cursor.kind() === 'null') return void cursor.skip();
    const name = cursor.keyText(LONGEST_ECHO);
    fields.push({ name, start, valueStart, end });
    if (scanned.tape.hasCacheMarkers) noteCacheMarkers(marked, cursor.copy(), name);
    if (name === door.storedItems) ids = storedIds(cursor.copy());
    if (name === messages) hasMessages = door.messageKinds.includes(cursor.kind()) && !isEmpty(cursor.copy());
    if (name === 'model' && cursor.kind() === 'string') model = cursor.copy().text(LONGEST_MODEL);
    return void cursor.skip();
  });
  for (const { start, end } of ids) body.fill(SPACE, start, end);
  if (model === '') return refuse('missing_model');
  if (!hasMessages) {
    const accepted = door.messageKinds.includes('string') ? 'a text or an array, and not empty' : MESSAGES;
    return refuse('missing_messages', { field: messages, accepted }, { param: messages });
  }
  const missing = door.required?.find((required) => !fields.some(({ name }) => name === required));
  return missing === undefined ? { fields, model, ...marked } : invalidField(missing, 'is required');
}

function isEmpty(list: JsonCursor): boolean {
  return list.kind() === 'string' ? list.text(1) === '' : list.eachElement(() => true) !== true;
}

/** Makes facts name places of the client's body, and frees that body with the chat form. */
function atItsDoor(
  chat: ChatRequest,
  { cacheWrites: marked }: OwnBody,
  atDoor: RequestAtDoor,
  name: (param: string) => string,
): ChatRequest {
  const { remoteImageParam, fileParam, maxTokensParam } = chat;
  const cacheWrites = allWrites(marked, chat.cacheWrites, name);
  return {
    ...chat,
    ...(remoteImageParam === undefined ? {} : { remoteImageParam: name(remoteImageParam) }),
    ...(fileParam === undefined ? {} : { fileParam: name(fileParam) }),
    ...(maxTokensParam === undefined ? {} : { maxTokensParam: name(maxTokensParam) }),
    ...(cacheWrites === undefined ? {} : { cacheWrites }),
    keepText(mostBytes) {
      atDoor.drop(mostBytes === 0);
      return chat.keepText(mostBytes);
    },
  };
}

/** Markers of the client's body take precedence over writes that the chat form requests. */
function allWrites(
  marked: CacheWrites | undefined,
  chat: CacheWrites | undefined,
  name: (param: string) => string,
): CacheWrites | undefined {
  const param = marked?.param ?? (chat && name(chat.param));
  const longParam = marked?.longParam ?? (chat?.longParam && name(chat.longParam));
  return param === undefined ? undefined : { param, ...(longParam === undefined ? {} : { longParam }) };
}
