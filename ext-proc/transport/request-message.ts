import type { BorrowedBytes } from '../../packages/http2-server/borrowed-bytes.ts';
import { type BodyPiece, readBody } from './body-message.ts';
import { readHeaders } from './headers-message.ts';
import type { RequestHead } from './request-head.ts';
import { WireReader } from './wire-reader.ts';

/** Of the fields of `ProcessingRequest` that are read, and of those on the way to an attribute's value. */
const REQUEST_HEADERS = (2 << 3) | 2;
const REQUEST_BODY = (4 << 3) | 2;
const REQUEST_TRAILERS = (6 << 3) | 2;
const ATTRIBUTES = (9 << 3) | 2;
const ENTRY_KEY = (1 << 3) | 2;
const ENTRY_VALUE = (2 << 3) | 2;
const STRUCT_FIELDS = (1 << 3) | 2;
const STRING_VALUE = (3 << 3) | 2;

const FILTER = 'envoy.filters.http.ext_proc';
const PEER = 'source.address';

/** What Envoy tells of a request. */
export interface RequestListener {
  receiveHead(head: RequestHead): void;
  receiveBody(piece: BodyPiece): void;
  receiveTrailers(): void;
}

/**
 * Reads a `ProcessingRequest` by hand: the generated decoder reads each name as UTF-8, copies each value, and makes an object of each field.
 * Nothing of the message is kept.
 */
export function readRequestMessage(bytes: BorrowedBytes, start: number, end: number, listener: RequestListener): void {
  const reader = new WireReader(bytes, start, end);
  let kind = 0;
  let partStart = 0;
  let partEnd = 0;
  let peer = '';
  while (reader.more) {
    const tag = reader.varint();
    if (tag === REQUEST_HEADERS || tag === REQUEST_BODY || tag === REQUEST_TRAILERS) {
      kind = tag;
      partEnd = reader.fieldEnd();
      partStart = reader.at;
      reader.at = partEnd;
    } else if (tag === ATTRIBUTES) peer = readPeer(reader) ?? peer;
    else reader.skip(tag);
  }
  reader.at = partStart;
  reader.end = partEnd;
  if (kind === REQUEST_HEADERS) listener.receiveHead(readHeaders(reader, peer));
  else if (kind === REQUEST_BODY) listener.receiveBody(readBody(reader));
  else if (kind === REQUEST_TRAILERS) listener.receiveTrailers();
  else throw new Error('ext_proc: a message of no known kind');
}

/** An entry of `attributes`: a struct, by the filter's name. */
function readPeer(reader: WireReader): string | undefined {
  const outerEnd = reader.enter();
  const entryEnd = reader.end;
  let peer: string | undefined;
  if (enterValue(reader, FILTER)) {
    while (reader.more) {
      const tag = reader.varint();
      if (tag === STRUCT_FIELDS) peer = readAttribute(reader) ?? peer;
      else reader.skip(tag);
    }
  }
  reader.at = entryEnd;
  reader.leave(outerEnd);
  return peer;
}

/** An entry of a struct's fields: a value, by the attribute's name. */
function readAttribute(reader: WireReader): string | undefined {
  const outerEnd = reader.enter();
  const entryEnd = reader.end;
  let value: string | undefined;
  if (enterValue(reader, PEER)) {
    while (reader.more) {
      const tag = reader.varint();
      if (tag !== STRING_VALUE) reader.skip(tag);
      else value = readText(reader);
    }
  }
  reader.at = entryEnd;
  reader.leave(outerEnd);
  return value;
}

/** Of a map's entry; false if its key is another. */
function enterValue(reader: WireReader, key: string): boolean {
  let found = false;
  let valueStart = reader.end;
  let valueEnd = reader.end;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === ENTRY_KEY) found = readText(reader) === key;
    else if (tag === ENTRY_VALUE) {
      valueEnd = reader.fieldEnd();
      valueStart = reader.at;
      reader.at = valueEnd;
    } else reader.skip(tag);
  }
  reader.at = valueStart;
  reader.end = valueEnd;
  return found;
}

/** Names and addresses are ASCII. */
function readText(reader: WireReader): string {
  const end = reader.fieldEnd();
  const text = reader.bytes.toString('latin1', reader.at, end);
  reader.at = end;
  return text;
}
