import type { WireReader } from './wire-reader.ts';

/** Of the two fields of `HttpBody`. */
const BODY = (1 << 3) | 2;
const END_OF_STREAM = 2 << 3;

export interface BodyPiece {
  readonly bytes: Buffer;
  readonly endOfStream: boolean;
}

/**
 * `HttpBody`, to the end of the reader. The generated decoder copies the piece: memory outside the heap, of which each 64 MB cost a full
 * garbage collection, some 60 ms of CPU (measured).
 */
export function readBody(reader: WireReader): BodyPiece {
  let bytes: Buffer = EMPTY;
  let endOfStream = false;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === BODY) {
      const end = reader.fieldEnd();
      bytes = unsharedPart(reader.bytes, reader.at, end);
      reader.at = end;
    } else if (tag === END_OF_STREAM) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return { bytes, endOfStream };
}

/** A slow upload must not keep alive the much larger memory that its small pieces were read into. */
function unsharedPart(message: Buffer, start: number, end: number): Buffer {
  const part = message.subarray(start, end);
  return part.length * 2 < part.buffer.byteLength ? Buffer.from(part) : part;
}

const EMPTY = Buffer.alloc(0);
