import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { type HeaderValue, type HttpHeaders, ProcessingRequest } from '../../proto/generated/ext_proc.ts';

/** Of `ProcessingRequest.request_headers`, of the two fields of `HttpHeaders`, of `HeaderMap` and of two of `HeaderValue`. */
const REQUEST_HEADERS = (2 << 3) | WireType.LengthDelimited;
const MAP = (1 << 3) | WireType.LengthDelimited;
const END_OF_STREAM = (3 << 3) | WireType.Varint;
const HEADER = (1 << 3) | WireType.LengthDelimited;
const KEY = (1 << 3) | WireType.LengthDelimited;
const RAW_VALUE = (3 << 3) | WireType.LengthDelimited;

/**
 * A `ProcessingRequest` that begins with the request's headers, as Envoy sends it; `undefined` otherwise. The generated decoder reads each
 * name as UTF-8 and copies each value; header names are ASCII, and the message outlives nothing but the turn in which it is read.
 */
export function readHeadersMessage(message: Buffer): ProcessingRequest | undefined {
  if (message[0] !== REQUEST_HEADERS) return undefined;
  const reader = new BinaryReader(message);
  reader.uint32();
  const requestHeaders = readHeaders(reader, message, endOf(reader));
  const others = message.subarray(reader.pos);
  return { ...ProcessingRequest.decode(others), requestHeaders };
}

function readHeaders(reader: BinaryReader, message: Buffer, end: number): HttpHeaders {
  const headers: HeaderValue[] = [];
  let endOfStream = false;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === MAP) {
      const mapEnd = endOf(reader);
      while (reader.pos < mapEnd) {
        const inMap = reader.uint32();
        if (inMap === HEADER) headers.push(readHeader(reader, message, endOf(reader)));
        else reader.skip(inMap & 7);
      }
    } else if (tag === END_OF_STREAM) endOfStream = reader.bool();
    else reader.skip(tag & 7);
  }
  return { headers: { headers }, endOfStream };
}

function readHeader(reader: BinaryReader, message: Buffer, end: number): HeaderValue {
  const header: { key: string; rawValue: Buffer } = { key: '', rawValue: EMPTY };
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === KEY || tag === RAW_VALUE) {
      const partEnd = endOf(reader);
      if (tag === KEY) header.key = message.toString('latin1', reader.pos, partEnd);
      else header.rawValue = message.subarray(reader.pos, partEnd);
      reader.pos = partEnd;
    } else reader.skip(tag & 7);
  }
  return header;
}

/** Of the field whose length comes next. It must lie in the message. */
function endOf(reader: BinaryReader): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError('ext_proc: a field reaches beyond its message');
  return end;
}

const EMPTY = Buffer.alloc(0);
