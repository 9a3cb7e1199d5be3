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

export type SentFacts = Pick<ChatFacts, 'stream' | 'otherStreamOptions' | 'identities'>;

/**
 * Makes the body for a provider from the client's. Members are copied byte for byte, so that large
 * integers, `1.0` and escapes arrive as they were sent. Only `model`, the output limit, identities
 * and, in a stream, `stream_options.include_usage` are new. `fields` has no null ones: they count
 * as absent. Most pieces are parts of `bytes`, so a long prompt is not copied.
 */
export function providerBody(
  bytes: Buffer,
  fields: readonly BodyField[],
  { stream, otherStreamOptions, identities }: SentFacts,
  provider: ProviderFields,
): readonly Buffer[] {
  const head = `{"model":${JSON.stringify(provider.model)},${JSON.stringify(provider.outputLimitField)}:${provider.outputLimit}`;
  const pieces: Buffer[] = [Buffer.from(head)];
  for (const field of fields) {
    if (REPLACED.has(field.name) || field.name === provider.outputLimitField) continue;
    if (stream && field.name === 'stream_options') continue;
    const identity = identities.get(field.name);
    const member = identity === undefined ? undefined : hashed(field.name, identity, provider);
    pieces.push(SEPARATOR, member ?? bytes.subarray(field.start, field.end));
  }
  if (stream) pieces.push(...streamOptions(bytes, otherStreamOptions));
  pieces.push(Buffer.from('}'));
  return pieces;
}

/** Hides end users from the provider. An empty text is hashed like any other. */
function hashed(name: string, identity: string, provider: ProviderFields): Buffer {
  return Buffer.from(`"${name}":"${provider.identify(name, identity)}"`);
}

const SEPARATOR = Buffer.from(',');

/** The options of the client, with usage, which is always asked of the provider. */
function streamOptions(bytes: Buffer, others: readonly Span[]): Buffer[] {
  const pieces = others.flatMap(({ start, end }) => [SEPARATOR, bytes.subarray(start, end)]);
  return [Buffer.from(',"stream_options":{"include_usage":true'), ...pieces, Buffer.from('}')];
}
