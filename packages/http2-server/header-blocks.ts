import { type BorrowedBytes, copyOf, lend } from './borrowed-bytes.ts';
import { HpackDecoder } from './hpack-decoder.ts';
import { Flag, Http2ErrorCode, MAX_HEADER_LIST_BYTES } from './protocol.ts';
import { RequestFields } from './request-fields.ts';

/** Weight and dependency, with which HEADERS may begin. RFC 9113 deprecates them. */
const PRIORITY_BYTES = 5;
/** A block within its bound needs one. The limit stops endless empty frames. */
const MAX_CONTINUATIONS = 16;

/** Joins HEADERS and CONTINUATIONs to a block and decodes it: one per connection at a time. */
export class HeaderBlocks {
  readonly #decoder = new HpackDecoder();
  /** The fields of the last block, until the next one begins. */
  readonly fields = new RequestFields();
  streamId = 0;
  endStream = false;
  /** True while a block is incomplete. The next frame must be its CONTINUATION. */
  unfinished = false;
  #parts: Buffer = EMPTY;
  #continuations = 0;

  begin(flags: number, streamId: number, bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    let blockStart = start;
    let blockEnd = end;
    if ((flags & Flag.padded) !== 0) {
      if (start === end) return Http2ErrorCode.frameSize;
      blockStart += 1;
      blockEnd -= bytes.readUInt8(start);
    }
    if ((flags & Flag.priority) !== 0) blockStart += PRIORITY_BYTES;
    if (blockStart > blockEnd) return Http2ErrorCode.protocol;
    this.streamId = streamId;
    this.endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return this.#decode(bytes, blockStart, blockEnd);
    this.unfinished = true;
    this.#continuations = 0;
    return this.#keep(bytes, blockStart, blockEnd);
  }

  continue(flags: number, streamId: number, bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    if (!this.unfinished || streamId !== this.streamId) return Http2ErrorCode.protocol;
    if (++this.#continuations > MAX_CONTINUATIONS) return Http2ErrorCode.enhanceYourCalm;
    const code = this.#keep(bytes, start, end);
    if (code !== Http2ErrorCode.noError || (flags & Flag.endHeaders) === 0) return code;
    const block = this.#parts;
    this.#parts = EMPTY;
    this.unfinished = false;
    return this.#decode(lend(block), 0, block.length);
  }

  #keep(bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    if (this.#parts.length + end - start > MAX_HEADER_LIST_BYTES) return Http2ErrorCode.enhanceYourCalm;
    this.#parts = Buffer.concat([this.#parts, copyOf(bytes, start, end)]);
    return Http2ErrorCode.noError;
  }

  #decode(bytes: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    this.fields.clear();
    if (end - start > MAX_HEADER_LIST_BYTES) return Http2ErrorCode.enhanceYourCalm;
    if (!this.#decoder.decode(bytes, start, end, this.fields)) return Http2ErrorCode.compression;
    return this.fields.tooLong ? Http2ErrorCode.enhanceYourCalm : Http2ErrorCode.noError;
  }
}

const EMPTY = Buffer.alloc(0);
