import type { ChatFacts } from './chat-facts.ts';
import type { ProviderFields, SentReasoning } from './chat-request.ts';
import { editedPieces, extraContentEdits, reasoningEdits, roleEdits } from './edited-messages.ts';
import type { Span } from './json/json-cursor.ts';
import { shapeMembers } from './request-shaping.ts';

/** A top-level member of the client's body, from the key's quote to the value's end. */
export interface BodyField {
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** Fields that the gateway sets. The client's values are dropped. */
const REPLACED: ReadonlySet<string> = new Set(['model', 'max_tokens', 'max_completion_tokens']);

/** Fields that only the gateway reads. */
export const NOT_SENT: ReadonlySet<string> = new Set(['store', 'metadata', 'modalities']);

export interface SentFacts
  extends Pick<ChatFacts, 'stream' | 'otherStreamOptions' | 'identities' | 'edits' | 'hasTools' | 'called'> {
  readonly serviceTier: string | undefined;
}

/** Members of an accepted body. */
export interface SentBody {
  readonly bytes: Buffer;
  /** Fields that are not null. Null counts as absent. */
  readonly fields: readonly BodyField[];
  /** Start and end of the role of each message, quotes included. */
  readonly roles: Int32Array;
}

/**
 * Makes the body for a provider from the client's. Members are copied byte for byte, so that large
 * integers, `1.0` and escapes arrive as they were sent. Only `model`, the output limit, identities,
 * `service_tier`, the frame of an image that was a plain string, content and reasoning that a
 * message lacks, in a stream `stream_options.include_usage`, and what the provider's shaping
 * changes are new. Most pieces are parts of `bytes`, so a long prompt is not copied.
 */
export function providerBody(body: SentBody, facts: SentFacts, provider: ProviderFields): readonly Buffer[] {
  const { shaping = [], streamOptions } = provider;
  const limit =
    provider.outputLimit === undefined ? '' : `,${JSON.stringify(provider.outputLimitField)}:${provider.outputLimit}`;
  const head = `{"model":${JSON.stringify(provider.model)}${limit}`;
  const pieces: Buffer[] = [Buffer.from(head)];
  const members = new Map<string, BodyField | string>();
  for (const field of body.fields) {
    if (isSent(field, facts, provider)) members.set(field.name, newValue(field, facts, provider) ?? field);
  }
  for (const [name, value] of shapeMembers(members, shaping, facts.hasTools, (json) => json)) {
    pieces.push(SEPARATOR);
    if (typeof value === 'string') pieces.push(Buffer.from(`${JSON.stringify(name)}:${value}`));
    else if (value.name === 'messages') pieces.push(...messagePieces(body, value, facts, provider));
    else if (value.name === name) pieces.push(body.bytes.subarray(value.start, value.end));
    else pieces.push(Buffer.from(`${JSON.stringify(name)}:`), body.bytes.subarray(value.valueStart, value.end));
  }
  if (facts.stream && streamOptions !== false) pieces.push(...usageOptions(body.bytes, facts.otherStreamOptions));
  pieces.push(Buffer.from('}'));
  return pieces;
}

function isSent({ name }: BodyField, { stream }: SentFacts, provider: ProviderFields): boolean {
  if (name === 'stream_options') return !stream && provider.streamOptions !== false;
  return !REPLACED.has(name) && !NOT_SENT.has(name) && name !== provider.outputLimitField;
}

/** JSON text that replaces the client's. Identities are hashed for the provider, even empty. */
function newValue({ name }: BodyField, facts: SentFacts, provider: ProviderFields): string | undefined {
  const identity = facts.identities.get(name);
  if (identity !== undefined) return JSON.stringify(provider.identify(name, identity));
  return name === 'service_tier' ? JSON.stringify(facts.serviceTier) : undefined;
}

/** The member `messages` with its edits. It is never renamed. */
function messagePieces(
  { bytes, roles }: SentBody,
  field: BodyField,
  { edits: noted, called }: SentFacts,
  { shaping = [], reasoning }: ProviderFields,
): readonly Buffer[] {
  const kinds = [
    noted,
    roleEdits(bytes, roles, shaping),
    reasoning === undefined ? [] : editsWith(reasoning, bytes, called),
  ].filter(({ length }) => length > 0);
  const edits = kinds.length > 1 ? kinds.flat().toSorted((a, b) => a.start - b.start) : (kinds[0] ?? []);
  return editedPieces(bytes, field, edits);
}

function editsWith({ member, kept }: SentReasoning, bytes: Buffer, called: SentFacts['called']) {
  return member === 'reasoning_content'
    ? reasoningEdits(called.contentPlaces(), kept)
    : extraContentEdits(bytes, called.callsOf(kept), kept);
}

const SEPARATOR = Buffer.from(',');

/** The client's options, with the usage, which is always requested from the provider. */
function usageOptions(bytes: Buffer, others: readonly Span[]): Buffer[] {
  const pieces = others.flatMap(({ start, end }) => [SEPARATOR, bytes.subarray(start, end)]);
  return [Buffer.from(',"stream_options":{"include_usage":true'), ...pieces, Buffer.from('}')];
}
