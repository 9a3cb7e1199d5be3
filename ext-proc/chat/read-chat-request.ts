import { isRefusal, LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import { withoutKeys } from '#core/key-secret.ts';
import type { Steps } from '../fairness/steps.ts';
import { noteCacheMarkers } from './cache-writes.ts';
import { type ChatFacts, type FieldRule, invalidField, newChatFacts } from './chat-facts.ts';
import { CHAT_FIELDS, CURES } from './chat-fields.ts';
import type { ChatRequest } from './chat-request.ts';
import { type ExtraFields, extraFieldRule, NO_EXTRA_FIELDS } from './extra-fields.ts';
import { holdBody, type ReadBody, tallyInput } from './held-body.ts';
import { JsonCursor, type Span } from './json/json-cursor.ts';
import type { ScannedObject } from './json/json-scan.ts';
import type { BodyField, SentFacts } from './provider-body.ts';
import { scanBody } from './scan-body.ts';
import type { ImageSize } from './tokens/image-size.ts';
import type { InputTokens } from './tokens/input-tokens.ts';
import { fileSource, imageSource } from './tokens/media-source.ts';
import type { PromptRecord } from './tokens/prompt-record.ts';

/** Fields of a body that is read by the rules of chat. */
export interface BodyForm {
  readonly fields: ReadonlyMap<string, FieldRule>;
  /** Fields of other APIs, with the end of the refusal. */
  readonly cures: ReadonlyMap<string, string>;
  /** Most values of a body. Absent: the bound of all bodies. */
  readonly mostValues?: number;
  /** Checks what a body must have beside `model`. */
  check(present: PresentFields): Refusal | undefined;
}

/** Requirement in the message of `missing_messages`. */
export const MESSAGES = 'an array with at least one message';

export const CHAT_FORM: BodyForm = {
  fields: CHAT_FIELDS,
  cures: CURES,
  check: (present) =>
    hasMessages(present) ? undefined : refuse('missing_messages', { field: 'messages', accepted: MESSAGES }),
};

/**
 * Reads and checks the body of a chat completion, or of another form, in the order of
 * docs/interface.md, "Order of checks", from a compressed body to a field of the wrong type. Pure:
 * the same bytes and extra fields always have the same result. Work that grows with the length of
 * the body is done in steps of some ms. The rules for the fields take one step, which the bound on
 * the number of values limits.
 */
export function* readChatRequest(
  bytes: Buffer,
  contentEncoding: string | undefined,
  extraFields = NO_EXTRA_FIELDS,
  form = CHAT_FORM,
): Steps<ChatRequest | Refusal> {
  const body = yield* scanBody(bytes, contentEncoding, {
    // Not every field is a word of json-words.ts.
    has: (word, text) => form.fields.has(word) || form.fields.has(text()) || extraFields.has(text()),
    cures: form.cures,
    mostValues: form.mostValues,
  });
  if (isRefusal(body)) return body;
  const present = presentFields(body, form);
  const model = modelOf(present);
  if (model === undefined) return refuse('missing_model');
  const lacking = form.check(present);
  if (lacking) return lacking;
  const facts = newChatFacts();
  const refusal = checkFields(present, facts, extraFields, form, body.tape.hasCacheMarkers);
  // After the next step the tape may belong to another request.
  const prompt = facts.prompt.record();
  const fields = [...present.values()].map(({ name, start, valueStart, end }) => ({ name, start, valueStart, end }));
  const hasMedia = prompt.images.length + prompt.files.length > 0;
  const media = hasMedia ? yield* readMedia(body.bytes, prompt) : NO_MEDIA;
  // These images and files come before the refused field, so their refusal takes precedence.
  if (isRefusal(media)) return media;
  if (refusal) return refusal;
  const { imageSizes, fileBytes, remoteParam } = media;
  const read = { bytes, isPlain: body.isPlain, prompt, fields, imageSizes, fileBytes };
  // Inputs of embeddings are measured without samples.
  const inputTokens = yield* tallyInput(read, prompt.inputs === 0);
  return chatRequest(model, facts, read, inputTokens, remoteParam);
}

/** A top-level member, and a cursor at its value. */
type PresentFields = ReadonlyMap<string, BodyField & { readonly cursor: JsonCursor }>;

/** Fields that are neither null nor replaced by a later field of the same name. */
function presentFields(body: ScannedObject, { fields }: BodyForm): PresentFields {
  const present = new Map<string, BodyField & { readonly cursor: JsonCursor }>();
  const cursor = new JsonCursor(body);
  cursor.eachMember((word) => {
    const name = fields.has(word) ? word : cursor.keyText(LONGEST_ECHO);
    const { keyStart: start, start: valueStart, end } = cursor;
    if (cursor.kind() !== 'null') present.set(name, { name, start, valueStart, end, cursor: cursor.copy() });
    return void cursor.skip();
  });
  return present;
}

/** No model has a longer name. */
export const LONGEST_MODEL = 1024;

function modelOf(present: PresentFields): string | undefined {
  const cursor = present.get('model')?.cursor;
  const model = cursor?.kind() === 'string' ? cursor.copy().text(LONGEST_MODEL) : '';
  return model === '' ? undefined : model;
}

function hasMessages(present: PresentFields): boolean {
  const cursor = present.get('messages')?.cursor;
  return cursor?.kind() === 'array' && cursor.copy().eachElement(() => true) === true;
}

function checkFields(
  present: PresentFields,
  facts: ChatFacts,
  extraFields: ExtraFields,
  { fields }: BodyForm,
  hasCacheMarkers: boolean,
): Refusal | undefined {
  for (const { name, cursor } of present.values()) {
    if (hasCacheMarkers) noteCacheMarkers(facts, cursor.copy(), name);
    const type = extraFields.get(name);
    const rule = fields.get(name) ?? (type && extraFieldRule(type));
    const refusal = rule?.(cursor, facts, name);
    if (refusal) return refusal;
  }
  return undefined;
}

interface Media {
  readonly imageSizes: readonly (ImageSize | undefined)[];
  readonly fileBytes: readonly number[];
  /** The first image that is a remote link, as `param` names it. */
  readonly remoteParam: string | undefined;
}

const NO_MEDIA: Media = { imageSizes: [], fileBytes: [], remoteParam: undefined };

/** Media are read in steps of so many bytes. Each medium counts as some bytes more. */
const STEP_BYTES = 512 * 1024;
const MEDIUM_BYTES = 1024;

function* readMedia(bytes: Buffer, { images, files }: PromptRecord): Steps<Media | Refusal> {
  const imageSizes: (ImageSize | undefined)[] = [];
  const fileBytes: number[] = [];
  let remoteParam: string | undefined;
  let sinceStep = 0;
  const isStep = ({ start, end }: Span) => {
    sinceStep += MEDIUM_BYTES + end - start;
    if (sinceStep < STEP_BYTES) return false;
    sinceStep = 0;
    return true;
  };
  for (const image of images) {
    const source = yield* imageSource(bytes, image);
    if (source.kind === 'invalid') return invalidField(image.param, source.requirement);
    if (source.kind === 'inline') imageSizes.push(source.size);
    else remoteParam ??= image.param;
    if (isStep(image)) yield;
  }
  for (const file of files) {
    const source = yield* fileSource(bytes, file);
    if (source.kind === 'invalid') return invalidField(file.param, source.requirement);
    fileBytes.push(source.bytes);
    if (isStep(file)) yield;
  }
  return { imageSizes, fileBytes, remoteParam };
}

function chatRequest(
  model: string,
  facts: ChatFacts,
  read: ReadBody,
  inputTokens: InputTokens,
  remoteImageParam: string | undefined,
): ChatRequest {
  const { stream, otherStreamOptions, identities, edits, hasTools, serviceTier, called } = facts;
  const sent: SentFacts = { stream, otherStreamOptions, identities, edits, hasTools, serviceTier, called };
  const { givenTokens = 0 } = inputTokens.inputs ?? {};
  const request: Writable<ChatRequest> = {
    ...holdBody(read, sent, inputTokens.estimate - givenTokens),
    model,
    stream,
    includeUsage: facts.includeUsage,
    completions: facts.completions,
    jsonFormat: facts.jsonFormat,
    hasTools: facts.hasTools,
    hasImages: facts.hasImages,
    hasRemoteImages: remoteImageParam !== undefined,
    hasMedia: facts.hasImages || facts.fileParam !== undefined,
    identities,
    inputTokens,
    unsentTokens: () => 0,
  };
  if (facts.maxTokens !== undefined) request.maxTokens = facts.maxTokens;
  if (facts.maxTokensParam !== undefined) request.maxTokensParam = facts.maxTokensParam;
  if (remoteImageParam !== undefined) request.remoteImageParam = remoteImageParam;
  if (facts.reasoningEffort !== undefined) request.reasoningEffort = facts.reasoningEffort;
  if (facts.fileParam !== undefined) request.fileParam = facts.fileParam;
  if (facts.extraFields.length > 0) request.extraFields = facts.extraFields;
  if (serviceTier !== undefined) request.serviceTier = serviceTier;
  if (facts.cacheWrites !== undefined) request.cacheWrites = facts.cacheWrites;
  if (facts.metadata !== undefined) request.metadata = facts.metadata;
  const user = identities.get('user');
  if (user !== undefined) request.user = withoutKeys(user);
  return request;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
