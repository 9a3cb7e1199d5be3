import type { ChatRequest } from '../domain/chat-request.ts';
import { type Refusal, refuse } from '../errors/refusal.ts';
import { type ChatFacts, newChatFacts } from './chat-facts.ts';
import { CHAT_FIELDS } from './chat-fields.ts';
import { HeldBody } from './held-body.ts';
import { skipSpace } from './json-bytes.ts';
import { JsonCursor } from './json-cursor.ts';
import { type ScannedObject, scanJsonObject } from './json-scan.ts';
import type { BodyField } from './provider-body.ts';
import { TokenTally } from './token-tally.ts';

/**
 * Reads and checks the body of a chat completion, in the order of INTERFACE 4, from a compressed body to a field of the wrong type.
 * Pure: the same bytes always get the same answer.
 */
export function readChatRequest(bytes: Buffer, contentEncoding: string | undefined): ChatRequest | Refusal {
  if (!isIdentity(contentEncoding)) return COMPRESSED;
  const body = scanJsonObject(bytes);
  if (body.kind === 'problem') return refuse('invalid_json', { problem: body.problem });
  const unknown = firstUnknownField(bytes, body.keyStarts);
  if (unknown !== undefined) return refuse('unknown_parameter', { name: unknown }, { param: unknown });
  return checkFields(body);
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

/** Longest part of an unknown field's name that is echoed. */
const LONGEST_ECHO = 128;

/** In the order of the body as it was sent: a field that is given twice stands where it stood first. */
function firstUnknownField(bytes: Buffer, keyStarts: readonly number[]): string | undefined {
  const cursor = new JsonCursor(bytes, 0);
  for (const start of keyStarts) {
    cursor.pos = start;
    const name = cursor.text();
    if (!CHAT_FIELDS.has(name)) return name.slice(0, LONGEST_ECHO);
  }
  return undefined;
}

function checkFields(body: ScannedObject): ChatRequest | Refusal {
  const { bytes, isPlain } = body;
  const present = presentFields(body);
  const model = modelOf(bytes, present);
  if (model === undefined) return refuse('missing_model');
  if (!hasMessages(bytes, present)) return refuse('missing_messages');
  const tally = new TokenTally(isPlain);
  const facts = newChatFacts(tally);
  const fields: BodyField[] = [];
  for (const [name, { start, valueStart }] of present) {
    const cursor = new JsonCursor(bytes, valueStart);
    const refusal = CHAT_FIELDS.get(name)?.(cursor, facts, name);
    if (refusal) return refusal;
    fields.push({ name, start, valueStart, end: cursor.pos });
  }
  return chatRequest(model, body, fields, facts, tally);
}

type PresentFields = ReadonlyMap<string, { readonly start: number; readonly valueStart: number }>;

/** Fields that count: neither replaced by a later one of the same name nor null. */
function presentFields({ bytes, keyStarts }: ScannedObject): PresentFields {
  const present = new Map<string, { readonly start: number; readonly valueStart: number }>();
  const cursor = new JsonCursor(bytes, 0);
  for (const start of keyStarts) {
    cursor.pos = start;
    if (cursor.kind() !== 'string') continue;
    const name = cursor.text();
    const valueStart = skipSpace(bytes, skipSpace(bytes, cursor.pos) + 1);
    cursor.pos = valueStart;
    if (cursor.kind() !== 'null') present.set(name, { start, valueStart });
  }
  return present;
}

function modelOf(bytes: Buffer, present: PresentFields): string | undefined {
  const cursor = new JsonCursor(bytes, present.get('model')?.valueStart ?? bytes.length);
  const model = cursor.kind() === 'string' ? cursor.text() : '';
  return model === '' ? undefined : model;
}

function hasMessages(bytes: Buffer, present: PresentFields): boolean {
  const cursor = new JsonCursor(bytes, present.get('messages')?.valueStart ?? bytes.length);
  return cursor.kind() === 'array' && cursor.eachElement(() => true) === true;
}

function chatRequest(
  model: string,
  { bytes, isPlain }: ScannedObject,
  fields: readonly BodyField[],
  facts: ChatFacts,
  tally: TokenTally,
): ChatRequest {
  const held = new HeldBody(bytes, fields, isPlain);
  const { stream } = facts;
  const inputTokens = tally.total();
  const request: Writable<ChatRequest> = {
    model,
    stream,
    includeUsage: facts.includeUsage,
    completions: facts.completions,
    jsonFormat: facts.jsonFormat,
    hasTools: facts.hasTools,
    hasImages: facts.hasImages,
    hasRemoteImages: facts.remoteImageParam !== undefined,
    inputTokens,
    wholeEstimate: () => held.wholeEstimate(),
    promptText: () => held.promptText(),
    promptTexts: () => held.promptTexts(),
    encodeFor: (provider) => held.encodeFor(stream, provider),
    keepText: (mostBytes) => held.keepText(mostBytes, inputTokens.estimate),
    tokensLeftOut: () => held.tokensLeftOut(),
  };
  if (facts.maxTokens !== undefined) request.maxTokens = facts.maxTokens;
  if (facts.maxTokensParam !== undefined) request.maxTokensParam = facts.maxTokensParam;
  if (facts.remoteImageParam !== undefined) request.remoteImageParam = facts.remoteImageParam;
  if (facts.reasoningEffort !== undefined) request.reasoningEffort = facts.reasoningEffort;
  return request;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
