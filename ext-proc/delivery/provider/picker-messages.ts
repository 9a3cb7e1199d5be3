/**
 * Encodes and decodes, by field number, the few messages of `envoy.service.ext_proc.v3` that an
 * endpoint picker needs (Gateway API Inference Extension, "Endpoint Picker Protocol").
 */

export const DESTINATION = 'x-gateway-destination-endpoint';

export type PickerAnswer =
  | { readonly kind: 'picked'; readonly endpoints: string }
  /** The picker wants the request dropped, or has no endpoint. */
  | { readonly kind: 'refused' }
  /** Names no address. */
  | { readonly kind: 'unusable' };

const [LENGTH_DELIMITED, VARINT] = [2, 0];
/** Below the 4 MiB that gRPC servers accept by default. */
const PIECE_BYTES = 64 * 1024;

/** `ProcessingRequest`s of one request, each in its gRPC frame. */
export function* pickerRequest(path: string, body: readonly Buffer[]): Generator<Buffer> {
  const pairs = [
    [':method', 'POST'],
    [':path', path],
    ['content-type', 'application/json'],
  ] as const;
  const headers = pairs.map(([name, value]) =>
    bytes(1, [bytes(1, [Buffer.from(name)]), bytes(3, [Buffer.from(value)])]),
  );
  yield frame(Buffer.concat([bytes(2, [bytes(1, headers)])]));
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += PIECE_BYTES)
      yield frame(bytes(4, [bytes(1, [piece.subarray(at, at + PIECE_BYTES)])]));
  }
  yield frame(bytes(4, [Buffer.from([(2 << 3) | VARINT, 1])]));
}

/** Adds gRPC's prefix: a flag for compression (none) and the length. */
function frame(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function bytes(field: number, parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([(field << 3) | LENGTH_DELIMITED]), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const digits: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    digits.push((rest % 128) | (rest >= 128 ? 128 : 0));
    if (rest < 128) return Buffer.from(digits);
  }
}

/** Reads a `ProcessingResponse`. Throws RangeError if it is none. */
export function pickerAnswer(message: Buffer): PickerAnswer {
  for (const [field, content] of fieldsOf(message)) {
    if (field === 7) return { kind: 'refused' };
    if (field !== 1) continue;
    // HeadersResponse.response.header_mutation.set_headers[].header
    for (const header of [1, 2, 1, 1].reduce<Buffer[]>(inside, [content])) {
      const parts = new Map(fieldsOf(header));
      const endpoints = (parts.get(3) ?? parts.get(2))?.toString('latin1') ?? '';
      if (parts.get(1)?.toString().toLowerCase() === DESTINATION && ENDPOINTS.test(endpoints))
        return { kind: 'picked', endpoints };
    }
  }
  return { kind: 'unusable' };
}

/** Addresses with ports. Only those of the provider's endpoints have an effect. */
const ENDPOINTS = /^[0-9A-Fa-f.:[\], ]{3,2000}$/;

function inside(messages: readonly Buffer[], field: number): Buffer[] {
  return messages.flatMap((message) => fieldsOf(message).flatMap(([at, content]) => (at === field ? [content] : [])));
}

/** The length-delimited fields of a message. Others are skipped. */
function fieldsOf(message: Buffer): [field: number, content: Buffer][] {
  const fields: [number, Buffer][] = [];
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message.readUInt8(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = number();
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === VARINT) number();
    else if (type === 1 || type === 5) at += type === 1 ? 8 : 4;
    else {
      const length = number();
      if (type !== LENGTH_DELIMITED || at + length > message.length) throw new RangeError('not a message');
      fields.push([field, message.subarray(at, at + length)]);
      at += length;
    }
  }
  return fields;
}
