import { fieldBytes, headerBytes, MessageWriter, PREFIX_BYTES, SMALL_NUMBER_BYTES } from './message-writer.ts';

/** Tags with the field numbers of ext_proc.proto. Wire type 2 has a length, 0 is a number. */
const RESPONSE_REQUEST_HEADERS = (1 << 3) | 2;
const HEADERS_COMMON = (1 << 3) | 2;
const COMMON_HEADER_MUTATION = (2 << 3) | 2;
const COMMON_CLEAR_ROUTE_CACHE = 5 << 3;
const MUTATION_SET = (1 << 3) | 2;
const MUTATION_REMOVE = (2 << 3) | 2;
const OPTION_HEADER = (1 << 3) | 2;
const OPTION_APPEND_ACTION = 3 << 3;
const OVERWRITE_IF_EXISTS_OR_ADD = 2;
const HEADER_KEY = (1 << 3) | 2;
const HEADER_RAW_VALUE = (3 << 3) | 2;

/**
 * Encodes the reply that routes a request, with which every stream begins, as one gRPC frame.
 * `setHeaders`: alternating names (ASCII) and values (Latin-1), which replace the request's own.
 */
export function encodeRoute(setHeaders: readonly string[], removeHeaders: readonly string[]): Buffer {
  let mutationBytes = 0;
  for (let at = 0; at < setHeaders.length; at += 2) mutationBytes += fieldBytes(optionBytes(setHeaders, at));
  for (const name of removeHeaders) mutationBytes += fieldBytes(name.length);
  const commonBytes = fieldBytes(mutationBytes) + SMALL_NUMBER_BYTES;
  const messageBytes = fieldBytes(fieldBytes(commonBytes));
  const writer = new MessageWriter(PREFIX_BYTES + messageBytes);
  writer.prefix(messageBytes);
  writer.open(RESPONSE_REQUEST_HEADERS, fieldBytes(commonBytes));
  writer.open(HEADERS_COMMON, commonBytes);
  writer.open(COMMON_HEADER_MUTATION, mutationBytes);
  for (let at = 0; at < setHeaders.length; at += 2) {
    writer.open(MUTATION_SET, optionBytes(setHeaders, at));
    writer.open(OPTION_HEADER, headerBytes(setHeaders, at));
    writer.text(HEADER_KEY, setHeaders[at] ?? '');
    writer.text(HEADER_RAW_VALUE, setHeaders[at + 1] ?? '');
    writer.smallNumber(OPTION_APPEND_ACTION, OVERWRITE_IF_EXISTS_OR_ADD);
  }
  for (const name of removeHeaders) writer.text(MUTATION_REMOVE, name);
  writer.smallNumber(COMMON_CLEAR_ROUTE_CACHE, 1);
  return writer.bytes;
}

/** Bytes of the header at this index with its append action. */
function optionBytes(headers: readonly string[], at: number): number {
  return fieldBytes(headerBytes(headers, at)) + SMALL_NUMBER_BYTES;
}
