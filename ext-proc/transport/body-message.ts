import type { BorrowedBytes } from '../../packages/http2-server/borrowed-bytes.ts';
import type { WireReader } from './wire-reader.ts';

/** Of the two fields of `HttpBody`. */
const BODY = (1 << 3) | 2;
const END_OF_STREAM = 2 << 3;

export interface BodyPiece {
  /** The piece is the part from `start` to before `end`. */
  readonly bytes: BorrowedBytes;
  readonly start: number;
  readonly end: number;
  readonly endOfStream: boolean;
}

/** `HttpBody`, to the end of the reader. The generated decoder copies the piece. */
export function readBody(reader: WireReader): BodyPiece {
  let start = reader.at;
  let end = reader.at;
  let endOfStream = false;
  while (reader.more) {
    const tag = reader.varint();
    if (tag === BODY) {
      end = reader.fieldEnd();
      start = reader.at;
      reader.at = end;
    } else if (tag === END_OF_STREAM) endOfStream = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return { bytes: reader.bytes, start, end, endOfStream };
}
