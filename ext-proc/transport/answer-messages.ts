/**
 * The messages of an answer on the ext_proc stream, written by hand: nearly every request ends with them. What is around the body is built
 * as text, one character for each byte, from the inside out: joining strings costs V8 less than filling small buffers does.
 */
export interface AnswerMessages {
  /** `:status` among them; names in ASCII, values in Latin-1. */
  readonly headers: Iterable<readonly [name: string, value: string]>;
  /** Absent: an answer without a body. */
  readonly body: Buffer | undefined;
  /** Nothing follows. */
  readonly ended: boolean;
}

/** Numbers of the fields, as in ext_proc.proto. */
const RESPONSE_STREAMED_IMMEDIATE = 11;
const IMMEDIATE_HEADERS = 1;
const IMMEDIATE_BODY = 2;
const HTTP_HEADERS_MAP = 1;
const HTTP_HEADERS_END_OF_STREAM = 3;
const HEADER_MAP_HEADERS = 1;
const HEADER_KEY = 1;
const HEADER_RAW_VALUE = 3;
const BODY_BYTES = 1;
const BODY_END_OF_STREAM = 2;

/** One or two gRPC frames. */
export function encodeAnswer({ headers, body, ended }: AnswerMessages): Buffer {
  let map = '';
  for (const [name, value] of headers) {
    map += field(HEADER_MAP_HEADERS, field(HEADER_KEY, name) + field(HEADER_RAW_VALUE, value));
  }
  const endsHere = body === undefined && ended;
  const httpHeaders = field(HTTP_HEADERS_MAP, map) + (endsHere ? isTrue(HTTP_HEADERS_END_OF_STREAM) : '');
  const head = framed(field(RESPONSE_STREAMED_IMMEDIATE, field(IMMEDIATE_HEADERS, httpHeaders)), 0);
  if (body === undefined) return Buffer.from(head, 'latin1');
  // The body stands at the very end of its message, so that it is copied once, behind the text.
  const ending = ended ? isTrue(BODY_END_OF_STREAM) : '';
  const inBody = ending + opening(BODY_BYTES, body.length);
  const inImmediate = opening(IMMEDIATE_BODY, inBody.length + body.length) + inBody;
  const inResponse = opening(RESPONSE_STREAMED_IMMEDIATE, inImmediate.length + body.length) + inImmediate;
  const text = head + framed(inResponse, body.length);
  const answer = Buffer.allocUnsafe(text.length + body.length);
  answer.write(text, 0, 'latin1');
  answer.set(body, text.length);
  return answer;
}

function field(number: number, payload: string): string {
  return opening(number, payload.length) + payload;
}

/** What stands before `length` bytes of a field. */
function opening(number: number, length: number): string {
  return String.fromCharCode((number << 3) | 2) + varint(length);
}

function isTrue(number: number): string {
  return String.fromCharCode(number << 3, 1);
}

function varint(value: number): string {
  if (value < 0x80) return String.fromCharCode(value);
  return String.fromCharCode((value & 0x7f) | 0x80) + varint(value >>> 7);
}

/** gRPC's prefix, for a message of which `bytesToFollow` are still to come. */
function framed(message: string, bytesToFollow: number): string {
  const length = message.length + bytesToFollow;
  return String.fromCharCode(0, length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff) + message;
}
