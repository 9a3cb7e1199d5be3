import { fieldBytes, headerBytes, MessageWriter, PREFIX_BYTES, SMALL_NUMBER_BYTES } from './message-writer.ts';

/** Tags with the field numbers of ext_proc.proto. Wire type 2 has a length, 0 is a number. */
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

/**
 * Encodes a response on the ext_proc stream, which nearly every request has, as one or two gRPC
 * frames. `headers`: alternating names in ASCII and values in Latin-1, `:status` among them.
 * `ended`: the response ends here.
 */
export function encodeResponse(headers: readonly string[], body: Buffer | undefined, ended: boolean): Buffer {
  const endsHere = body === undefined && ended;
  let mapBytes = 0;
  for (let at = 0; at < headers.length; at += 2) mapBytes += fieldBytes(headerBytes(headers, at));
  const httpHeadersBytes = fieldBytes(mapBytes) + (endsHere ? SMALL_NUMBER_BYTES : 0);
  const headBytes = PREFIX_BYTES + fieldBytes(fieldBytes(httpHeadersBytes));
  const inBodyBytes = body === undefined ? 0 : (ended ? SMALL_NUMBER_BYTES : 0) + fieldBytes(body.length);
  const bodyBytes = body === undefined ? 0 : PREFIX_BYTES + fieldBytes(fieldBytes(inBodyBytes));
  const writer = new MessageWriter(headBytes + bodyBytes);
  writer.prefix(headBytes - PREFIX_BYTES);
  writer.open(RESPONSE_STREAMED_IMMEDIATE, fieldBytes(httpHeadersBytes));
  writer.open(IMMEDIATE_HEADERS, httpHeadersBytes);
  writer.open(HTTP_HEADERS_MAP, mapBytes);
  for (let at = 0; at < headers.length; at += 2) {
    writer.open(HEADER_MAP_HEADERS, headerBytes(headers, at));
    writer.text(HEADER_KEY, headers[at] ?? '');
    writer.text(HEADER_RAW_VALUE, headers[at + 1] ?? '');
  }
  if (endsHere) writer.smallNumber(HTTP_HEADERS_END_OF_STREAM, 1);
  if (body === undefined) return writer.bytes;
  writer.prefix(bodyBytes - PREFIX_BYTES);
  writer.open(RESPONSE_STREAMED_IMMEDIATE, fieldBytes(inBodyBytes));
  writer.open(IMMEDIATE_BODY, inBodyBytes);
  if (ended) writer.smallNumber(BODY_END_OF_STREAM, 1);
  writer.open(BODY_BYTES, body.length);
  writer.copy(body);
  return writer.bytes;
}
