import type { WireReader } from './wire-reader.ts';

/** Of the two fields of `HttpBody`. */
const BODY = (1 << 3) | 2;
const END_OF_STREAM = 2 << 3;

export interface BodyPiece {
  /** Where they were read: only valid until whoever is told of them returns. */
  readonly bytes: Buffer;
  readonly endOfStream: boolean;
}

/** `HttpBody`, to the end of the reader. The generated decoder copies the piece. */
export function readBody(reader: WireReader): BodyPiece {
  let bytes: Buffer = EMPTY;
  let endOfStream = false;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === BODY) {
      const end = reader.fieldEnd();
      bytes = reader.bytes.subarray(reader.at, end);
      reader.at = end;
    } else if (tag === END_OF_STREAM) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return { bytes, endOfStream };
}

const EMPTY = Buffer.alloc(0);
