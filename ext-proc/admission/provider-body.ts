import type { ProviderFields } from '../domain/chat-request.ts';
import { JsonCursor } from './json-cursor.ts';

/** A top-level member of the client's body: `"key": value` from the key's quote to the value's end. */
export interface BodyField {
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** What the gateway sets; whatever the client sent under these names is left out. `model` and the limit's own name come with it. */
const REPLACED: ReadonlySet<string> = new Set(['model', 'max_tokens', 'max_completion_tokens']);

/** Sent on as hashes: the provider knows one customer, the operator. */
const IDENTITIES: ReadonlySet<string> = new Set(['user', 'safety_identifier', 'prompt_cache_key']);

/**
 * The client's body for a provider. Members are copied byte for byte, so that large integers, `1.0` and escapes arrive as they were
 * sent; only `model`, the output limit, identities and, in a stream, `stream_options.include_usage` are written new. Fields that are null were left
 * out before: they count as absent. In pieces, most of them parts of `bytes`: a long prompt is not copied.
 */
export function providerBody(
  bytes: Buffer,
  fields: readonly BodyField[],
  stream: boolean,
  provider: ProviderFields,
): readonly Buffer[] {
  const head = `{"model":${JSON.stringify(provider.model)},${JSON.stringify(provider.outputLimitField)}:${provider.outputLimit}`;
  const pieces: Buffer[] = [Buffer.from(head)];
  for (const field of fields) {
    if (REPLACED.has(field.name) || field.name === provider.outputLimitField) continue;
    if (stream && field.name === 'stream_options') continue;
    pieces.push(
      SEPARATOR,
      IDENTITIES.has(field.name) ? identity(bytes, field, provider) : bytes.subarray(field.start, field.end),
    );
  }
  if (stream)
    pieces.push(
      ...streamOptions(
        bytes,
        fields.find((field) => field.name === 'stream_options'),
      ),
    );
  pieces.push(Buffer.from('}'));
  return pieces;
}

/** The empty text is a value as any other. */
function identity(bytes: Buffer, { name, valueStart }: BodyField, provider: ProviderFields): Buffer {
  return Buffer.from(`"${name}":"${provider.identify(name, new JsonCursor(bytes, valueStart).text())}"`);
}

const SEPARATOR = Buffer.from(',');

/** The client's own options, but for usage, which is always asked of the provider. */
function streamOptions(bytes: Buffer, field: BodyField | undefined): Buffer[] {
  const pieces: Buffer[] = [Buffer.from(',"stream_options":{"include_usage":true')];
  if (field) {
    const cursor = new JsonCursor(bytes, field.valueStart);
    cursor.eachMember((key) => {
      const start = cursor.pos;
      cursor.skip();
      if (key !== 'include_usage')
        pieces.push(Buffer.from(`,${JSON.stringify(key)}:`), bytes.subarray(start, cursor.pos));
      return undefined;
    });
  }
  return [...pieces, Buffer.from('}')];
}
