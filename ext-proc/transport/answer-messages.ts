/**
 * The messages of an answer on the ext_proc stream, written by hand: nearly every request ends with them. Lengths are counted first, then
 * everything is written to its place: letter by letter, which for texts as short as these costs less than joining them.
 */
export interface AnswerMessages {
  /** Names and values in turn, `:status` among them; names in ASCII, values in Latin-1. */
  readonly headers: readonly string[];
  /** Absent: an answer without a body. */
  readonly body: Buffer | undefined;
  /** Nothing follows. */
  readonly ended: boolean;
}

/** Tags of the fields, with their numbers in ext_proc.proto; 2 is the kind that has a length, 0 a number. */
const RESPONSE_STREAMED_IMMEDIATE = (11 << 3) | 2;
const IMMEDIATE_HEADERS = (1 << 3) | 2;
const IMMEDIATE_BODY = (2 << 3) | 2;
const HTTP_HEADERS_MAP = (1 << 3) | 2;
const HTTP_HEADERS_END_OF_STREAM = 3 << 3;
const HEADER_MAP_HEADERS = (1 << 3) | 2;
const HEADER_KEY = (1 << 3) | 2;
const HEADER_RAW_VALUE = (3 << 3) | 2;
const BODY_BYTES = (1 << 3) | 2;
const BODY_END_OF_STREAM = 2 << 3;

/** gRPC's: one flag byte, four of length. */
const PREFIX_BYTES = 5;
/** A tag of one byte, and `true`. */
const TRUE_BYTES = 2;

/** One or two gRPC frames. */
export function encodeAnswer({ headers, body, ended }: AnswerMessages): Buffer {
  const endsHere = body === undefined && ended;
  let mapBytes = 0;
  for (let at = 0; at < headers.length; at += 2) mapBytes += fieldBytes(headerBytes(headers, at));
  const httpHeadersBytes = fieldBytes(mapBytes) + (endsHere ? TRUE_BYTES : 0);
  const headBytes = PREFIX_BYTES + fieldBytes(fieldBytes(httpHeadersBytes));
  const inBodyBytes = body === undefined ? 0 : (ended ? TRUE_BYTES : 0) + fieldBytes(body.length);
  const bodyBytes = body === undefined ? 0 : PREFIX_BYTES + fieldBytes(fieldBytes(inBodyBytes));
  const writer = new AnswerWriter(headBytes + bodyBytes);
  writer.prefix(headBytes - PREFIX_BYTES);
  writer.open(RESPONSE_STREAMED_IMMEDIATE, fieldBytes(httpHeadersBytes));
  writer.open(IMMEDIATE_HEADERS, httpHeadersBytes);
  writer.open(HTTP_HEADERS_MAP, mapBytes);
  for (let at = 0; at < headers.length; at += 2) {
    writer.open(HEADER_MAP_HEADERS, headerBytes(headers, at));
    writer.text(HEADER_KEY, headers[at] ?? '');
    writer.text(HEADER_RAW_VALUE, headers[at + 1] ?? '');
  }
  if (endsHere) writer.isTrue(HTTP_HEADERS_END_OF_STREAM);
  if (body === undefined) return writer.bytes;
  writer.prefix(bodyBytes - PREFIX_BYTES);
  writer.open(RESPONSE_STREAMED_IMMEDIATE, fieldBytes(inBodyBytes));
  writer.open(IMMEDIATE_BODY, inBodyBytes);
  if (ended) writer.isTrue(BODY_END_OF_STREAM);
  writer.open(BODY_BYTES, body.length);
  writer.copy(body);
  return writer.bytes;
}

/** Of the header at that place. */
function headerBytes(headers: readonly string[], at: number): number {
  return fieldBytes(headers[at]?.length ?? 0) + fieldBytes(headers[at + 1]?.length ?? 0);
}

/** Of a field with that much in it; every tag is one byte. */
function fieldBytes(payloadBytes: number): number {
  return 1 + varintBytes(payloadBytes) + payloadBytes;
}

function varintBytes(value: number): number {
  if (value < 2 ** 7) return 1;
  if (value < 2 ** 14) return 2;
  return value < 2 ** 21 ? 3 : 4;
}

class AnswerWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  prefix(messageBytes: number): void {
    this.bytes[this.#at] = 0;
    this.#at = this.bytes.writeUInt32BE(messageBytes, this.#at + 1);
  }

  /** What stands before the `length` bytes of a field. */
  open(tag: number, length: number): void {
    this.bytes[this.#at++] = tag;
    let rest = length;
    for (; rest >= 0x80; rest >>>= 7) this.bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.bytes[this.#at++] = rest;
  }

  isTrue(tag: number): void {
    this.bytes[this.#at++] = tag;
    this.bytes[this.#at++] = 1;
  }

  text(tag: number, text: string): void {
    this.open(tag, text.length);
    let at = this.#at;
    for (let index = 0; index < text.length; index++) this.bytes[at++] = text.charCodeAt(index);
    this.#at = at;
  }

  copy(bytes: Buffer): void {
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}
