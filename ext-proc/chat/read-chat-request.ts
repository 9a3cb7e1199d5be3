import { isRefusal, type Refusal, refuse } from '../../core/errors/refusal.ts';
import type { Steps } from '../turns/steps.ts';
import { type ChatFacts, invalidField, LONGEST_ECHO, newChatFacts } from './chat-facts.ts';
import { CHAT_FIELDS } from './chat-fields.ts';
import type { ChatRequest } from './chat-request.ts';
import { countTokens, HeldBody, type ReadBody } from './held-body.ts';
import { JsonCursor } from './json/json-cursor.ts';
import { JsonScan, type ScannedObject } from './json/json-scan.ts';
import type { BodyField } from './provider-body.ts';
import type { ImageSize } from './tokens/image-size.ts';
import { imageSource } from './tokens/image-source.ts';
import type { InputTokens } from './tokens/input-tokens.ts';
import type { PromptRecord } from './tokens/prompt-record.ts';

/**
 * Reads and checks the body of a chat completion, in the order of docs/interface.md, "Order of
 * checks", from a compressed body to a field of the wrong type. Pure: the same bytes always have
 * the same result. Work that grows with the length of the body is done in steps of some ms. The
 * rules for the fields take one step, which the bound on the number of values limits.
 */
export function* readChatRequest(bytes: Buffer, contentEncoding: string | undefined): Steps<ChatRequest | Refusal> {
  if (!isIdentity(contentEncoding)) return COMPRESSED;
  const scan = new JsonScan(bytes);
  while (!scan.step()) yield;
  const body = scan.result();
  if (body.kind === 'problem') return refuse('invalid_json', { problem: body.problem });
  const unknown = firstUnknownField(body);
  if (unknown !== undefined) return refuse('unknown_parameter', { name: unknown }, { param: unknown });
  if (body.hasReplaced) body.tape.blankReplaced(bytes);
  const present = presentFields(body);
  const model = modelOf(present);
  if (model === undefined) return refuse('missing_model');
  if (!hasMessages(present)) return refuse('missing_messages');
  const facts = newChatFacts();
  const refusal = checkFields(present, facts);
  // After the next step the tape may belong to another request.
  const prompt = facts.prompt.record();
  const fields = [...present.values()].map(({ name, start, end }) => ({ name, start, end }));
  const images = prompt.images.length === 0 ? NO_IMAGES : yield* readImages(body.bytes, prompt);
  // These images stand before the refused field.
  if (isRefusal(images)) return images;
  if (refusal) return refusal;
  const read = { bytes, isPlain: body.isPlain, prompt, fields, imageSizes: images.sizes };
  const inputTokens = yield* countTokens(read, true);
  return chatRequest(model, facts, read, inputTokens, images.remoteParam);
}

const COMPRESSED = refuse(
  'invalid_request',
  { problem: 'A compressed request body is not accepted; send it without content-encoding.' },
  { param: 'content-encoding' },
);

function isIdentity(contentEncoding = ''): boolean {
  if (contentEncoding === '') return true;
  return contentEncoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()));
}

/**
 * In the order of the body as it was sent: a field that is given twice stands where it stood first.
 */
function firstUnknownField(body: ScannedObject): string | undefined {
  const cursor = new JsonCursor(body);
  return cursor.eachKey((name) => (CHAT_FIELDS.has(name) ? undefined : cursor.keyText(LONGEST_ECHO)));
}

/** A top-level member, and a cursor at its value. */
type PresentFields = ReadonlyMap<string, BodyField & { readonly cursor: JsonCursor }>;

/** Fields that are neither null nor replaced by a later field of the same name. */
function presentFields(body: ScannedObject): PresentFields {
  const present = new Map<string, BodyField & { readonly cursor: JsonCursor }>();
  const cursor = new JsonCursor(body);
  cursor.eachMember((name) => {
    const { keyStart, end } = cursor;
    if (cursor.kind() !== 'null') present.set(name, { name, start: keyStart, end, cursor: cursor.copy() });
    return void cursor.skip();
  });
  return present;
}

/** No model has a longer name. */
const LONGEST_MODEL = 1024;

function modelOf(present: PresentFields): string | undefined {
  const cursor = present.get('model')?.cursor;
  const model = cursor?.kind() === 'string' ? cursor.copy().text(LONGEST_MODEL) : '';
  return model === '' ? undefined : model;
}

function hasMessages(present: PresentFields): boolean {
  const cursor = present.get('messages')?.cursor;
  return cursor?.kind() === 'array' && cursor.copy().eachElement(() => true) === true;
}

function checkFields(present: PresentFields, facts: ChatFacts): Refusal | undefined {
  for (const { name, cursor } of present.values()) {
    const refusal = CHAT_FIELDS.get(name)?.(cursor, facts, name);
    if (refusal) return refusal;
  }
  return undefined;
}

interface Images {
  readonly sizes: readonly (ImageSize | undefined)[];
  /** The first that is a remote link, as `param` names it. */
  readonly remoteParam: string | undefined;
}

const NO_IMAGES: Images = { sizes: [], remoteParam: undefined };

/** Images are read in steps of so many bytes. Each image counts as some bytes more. */
const STEP_BYTES = 512 * 1024;
const IMAGE_BYTES = 1024;

function* readImages(bytes: Buffer, { images }: PromptRecord): Steps<Images | Refusal> {
  const sizes: (ImageSize | undefined)[] = [];
  let remoteParam: string | undefined;
  let sinceStep = 0;
  for (const image of images) {
    const source = yield* imageSource(bytes, image);
    if (source.kind === 'invalid') return invalidField(image.param, source.requirement);
    if (source.kind === 'inline') sizes.push(source.size);
    else remoteParam ??= image.param;
    sinceStep += IMAGE_BYTES + image.end - image.start;
    if (sinceStep < STEP_BYTES) continue;
    sinceStep = 0;
    yield;
  }
  return { sizes, remoteParam };
}

function chatRequest(
  model: string,
  facts: ChatFacts,
  read: ReadBody,
  inputTokens: InputTokens,
  remoteImageParam: string | undefined,
): ChatRequest {
  const { stream, otherStreamOptions, identities } = facts;
  const sent = { stream, otherStreamOptions, identities };
  const held = new HeldBody(read);
  const request: Writable<ChatRequest> = {
    model,
    stream,
    includeUsage: facts.includeUsage,
    completions: facts.completions,
    jsonFormat: facts.jsonFormat,
    hasTools: facts.hasTools,
    hasImages: facts.hasImages,
    hasRemoteImages: remoteImageParam !== undefined,
    inputTokens,
    wholeEstimate: () => held.wholeEstimate(),
    promptText: () => held.promptText(),
    promptTexts: () => held.promptTexts(),
    encodeFor: (provider) => held.encodeFor(sent, provider),
    keepText: (mostBytes) => held.keepText(mostBytes, inputTokens.estimate),
    tokensOmitted: () => held.tokensOmitted(),
  };
  if (facts.maxTokens !== undefined) request.maxTokens = facts.maxTokens;
  if (facts.maxTokensParam !== undefined) request.maxTokensParam = facts.maxTokensParam;
  if (remoteImageParam !== undefined) request.remoteImageParam = remoteImageParam;
  if (facts.reasoningEffort !== undefined) request.reasoningEffort = facts.reasoningEffort;
  return request;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
