import { HeaderList, RequestHead } from './request-head.ts';
import type { WireReader } from './wire-reader.ts';

/** Tags of `HttpHeaders`, `HeaderMap` and `HeaderValue`. */
const MAP = (1 << 3) | 2;
const END_OF_STREAM = 3 << 3;
const HEADER = (1 << 3) | 2;
const KEY = (1 << 3) | 2;
const RAW_VALUE = (3 << 3) | 2;

/**
 * Reads `HttpHeaders`, to the end of the reader. `peer` is the address of the client's socket. The
 * result does not refer to the reader's bytes.
 */
export function readHeaders(reader: WireReader, peer: string): RequestHead {
  const first = reader.at;
  const places: number[] = [];
  let endOfStream = false;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === MAP) readMap(reader, first, places);
    else if (tag === END_OF_STREAM) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  const text = reader.bytes.toString('latin1', first, reader.end);
  return new RequestHead(new HeaderList(text, places), peer, endOfStream);
}

function readMap(reader: WireReader, first: number, places: number[]): void {
  const outerEnd = reader.enter();
  while (reader.more) {
    const tag = reader.varint();
    if (tag === HEADER) readHeader(reader, first, places);
    else reader.skip(tag);
  }
  reader.leave(outerEnd);
}

function readHeader(reader: WireReader, first: number, places: number[]): void {
  const outerEnd = reader.enter();
  let keyStart = first;
  let keyEnd = first;
  let valueStart = first;
  let valueEnd = first;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === KEY) {
      keyEnd = reader.fieldEnd();
      keyStart = reader.at;
      reader.at = keyEnd;
    } else if (tag === RAW_VALUE) {
      valueEnd = reader.fieldEnd();
      valueStart = reader.at;
      reader.at = valueEnd;
    } else reader.skip(tag);
  }
  reader.leave(outerEnd);
  places.push(keyStart - first, keyEnd - first, valueStart - first, valueEnd - first);
}
