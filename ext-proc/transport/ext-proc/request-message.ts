import type { BorrowedBytes } from '#packages/http2-server/borrowed-bytes.ts';
import { readHeaders } from './headers-message.ts';
import type { RequestHead } from './request-head.ts';
import { WireReader } from './wire-reader.ts';

/**
 * Tags of the fields of `ProcessingRequest` that are read, of `HttpBody`, and of the fields that
 * lead to an attribute's value.
 */
const REQUEST_HEADERS = (2 << 3) | 2;
const REQUEST_BODY = (4 << 3) | 2;
const REQUEST_TRAILERS = (6 << 3) | 2;
const BODY_BYTES = (1 << 3) | 2;
const BODY_END_OF_STREAM = 2 << 3;
const ATTRIBUTES = (9 << 3) | 2;
const ENTRY_KEY = (1 << 3) | 2;
const ENTRY_VALUE = (2 << 3) | 2;
const STRUCT_FIELDS = (1 << 3) | 2;
const STRING_VALUE = (3 << 3) | 2;

const FILTER = 'envoy.filters.http.ext_proc';
const PEER = 'source.address';

/** A piece of a body: `bytes` from `start` to before `end`, valid only during the call. */
export interface BodyPiece {
  readonly bytes: BorrowedBytes;
  readonly start: number;
  readonly end: number;
  readonly endOfStream: boolean;
}

/** Receives the parts of a request from Envoy. */
export interface RequestListener {
  receiveHead(head: RequestHead): void;
  receiveBody(piece: BodyPiece): void;
  receiveTrailers(): void;
}

/**
 * Reads a `ProcessingRequest` without generated code, which would decode each name as UTF-8, copy
 * each value, and make an object of each field. The message is not kept.
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

/** Reads an entry of `attributes`: the filter's name and a struct. */
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

/** Reads an entry of a struct's fields: the attribute's name and a value. */
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

/** Bounds the reader to the value of a map's entry. Returns false if the entry has another key. */
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

/** Reads `HttpBody`, to the end of the reader. The generated decoder would copy the piece. */
function readBody(reader: WireReader): BodyPiece {
  let start = reader.at;
  let end = reader.at;
  let endOfStream = false;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === BODY_BYTES) {
      end = reader.fieldEnd();
      start = reader.at;
      reader.at = end;
    } else if (tag === BODY_END_OF_STREAM) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return { bytes: reader.bytes, start, end, endOfStream };
}
