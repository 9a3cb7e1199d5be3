import type { ChatFacts } from './chat-facts.ts';
import type { ProviderFields } from './chat-request.ts';
import type { Span } from './json/json-cursor.ts';

/**
 * A top-level member of the client's body: `"key": value` from the key's quote to the value's end.
 */
export interface BodyField {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Fields that the gateway sets; the client's values are dropped. `model` and the limit's own name
 * are among them.
 */
const REPLACED: ReadonlySet<string> = new Set(['model', 'max_tokens', 'max_completion_tokens']);

/** Fields that are for the gateway alone. */
const NOT_SENT: ReadonlySet<string> = new Set(['store', 'metadata', 'modalities']);

export interface SentFacts extends Pick<ChatFacts, 'stream' | 'otherStreamOptions' | 'identities' | 'bareImages'> {
  readonly serviceTier: string | undefined;
}

/**
 * Makes the body for a provider from the client's. Members are copied byte for byte, so that large
 * integers, `1.0` and escapes arrive as they were sent. Only `model`, the output limit, identities,
 * `service_tier`, the frame of an image that was a plain string and, in a stream,
 * `stream_options.include_usage` are new. `fields` has no null ones: they count
 * as absent. Most pieces are parts of `bytes`, so a long prompt is not copied.
 */
export function providerBody(
  bytes: Buffer,
  fields: readonly BodyField[],
  { stream, otherStreamOptions, identities, bareImages, serviceTier }: SentFacts,
  provider: ProviderFields,
): readonly Buffer[] {
  const head = `{"model":${JSON.stringify(provider.model)},${JSON.stringify(provider.outputLimitField)}:${provider.outputLimit}`;
  const pieces: Buffer[] = [Buffer.from(head)];
  for (const field of fields) {
    if (REPLACED.has(field.name) || NOT_SENT.has(field.name) || field.name === provider.outputLimitField) continue;
    if (stream && field.name === 'stream_options') continue;
    pieces.push(SEPARATOR);
    const identity = identities.get(field.name);
    if (identity !== undefined) pieces.push(hashed(field.name, identity, provider));
    else if (field.name === 'service_tier') pieces.push(Buffer.from(`"service_tier":${JSON.stringify(serviceTier)}`));
    else if (field.name === 'messages') pushFramed(pieces, bytes, field, bareImages);
    else pieces.push(bytes.subarray(field.start, field.end));
  }
  if (stream) pieces.push(...streamOptions(bytes, otherStreamOptions));
  pieces.push(Buffer.from('}'));
  return pieces;
}

/** Hides end users from the provider. An empty text is hashed like any other. */
function hashed(name: string, identity: string, provider: ProviderFields): Buffer {
  return Buffer.from(`"${name}":"${provider.identify(name, identity)}"`);
}

/** Gives images that are plain strings the official form. */
function pushFramed(pieces: Buffer[], bytes: Buffer, field: BodyField, bareImages: readonly Span[]): void {
  let sent = field.start;
  for (const { start, end } of bareImages) {
    pieces.push(bytes.subarray(sent, start), URL_OPEN, bytes.subarray(start, end), URL_CLOSE);
    sent = end;
  }
  pieces.push(bytes.subarray(sent, field.end));
}

const URL_OPEN = Buffer.from('{"url":');
const URL_CLOSE = Buffer.from('}');
const SEPARATOR = Buffer.from(',');

/** The options of the client, with usage, which is always asked of the provider. */
function streamOptions(bytes: Buffer, others: readonly Span[]): Buffer[] {
  const pieces = others.flatMap(({ start, end }) => [SEPARATOR, bytes.subarray(start, end)]);
  return [Buffer.from(',"stream_options":{"include_usage":true'), ...pieces, Buffer.from('}')];
}
