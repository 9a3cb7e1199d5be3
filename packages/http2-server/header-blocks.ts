import { HpackDecoder } from './hpack-decoder.ts';
import { ErrorCode, Flag, MAX_HEADER_LIST_BYTES } from './protocol.ts';
import { RequestFields } from './request-fields.ts';

/** Weight and dependency, which HEADERS may begin with and nobody uses any more. */
const PRIORITY_BYTES = 5;
/** A block within the bound needs one; frames with nothing in them must have an end. */
const MAX_CONTINUATIONS = 16;

/** Blocks of headers, of HEADERS and the CONTINUATIONs behind it. One at a time, as the protocol has it. */
export class HeaderBlocks {
  readonly #decoder = new HpackDecoder();
  /** What the last block said, until the next one. */
  readonly fields = new RequestFields();
  streamId = 0;
  endStream = false;
  /** The next frame must be its CONTINUATION. */
  unfinished = false;
  #parts: Buffer = EMPTY;
  #continuations = 0;

  begin(flags: number, streamId: number, bytes: Buffer, start: number, end: number): ErrorCode {
    let blockStart = start;
    let blockEnd = end;
    if ((flags & Flag.padded) !== 0) {
      if (start === end) return ErrorCode.frameSize;
      blockStart += 1;
      blockEnd -= bytes.readUInt8(start);
    }
    if ((flags & Flag.priority) !== 0) blockStart += PRIORITY_BYTES;
    if (blockStart > blockEnd) return ErrorCode.protocol;
    this.streamId = streamId;
    this.endStream = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) !== 0) return this.#decode(bytes, blockStart, blockEnd);
    this.unfinished = true;
    this.#continuations = 0;
    return this.#keep(bytes, blockStart, blockEnd);
  }

  goOn(flags: number, streamId: number, bytes: Buffer, start: number, end: number): ErrorCode {
    if (!this.unfinished || streamId !== this.streamId) return ErrorCode.protocol;
    if (++this.#continuations > MAX_CONTINUATIONS) return ErrorCode.enhanceYourCalm;
    const code = this.#keep(bytes, start, end);
    if (code !== ErrorCode.noError || (flags & Flag.endHeaders) === 0) return code;
    const block = this.#parts;
    this.#parts = EMPTY;
    this.unfinished = false;
    return this.#decode(block, 0, block.length);
  }

  #keep(bytes: Buffer, start: number, end: number): ErrorCode {
    if (this.#parts.length + end - start > MAX_HEADER_LIST_BYTES) return ErrorCode.enhanceYourCalm;
    this.#parts = Buffer.concat([this.#parts, bytes.subarray(start, end)]);
    return ErrorCode.noError;
  }

  #decode(bytes: Buffer, start: number, end: number): ErrorCode {
    this.fields.clear();
    if (!this.#decoder.decode(bytes, start, end, this.fields)) return ErrorCode.compression;
    return this.fields.tooLong ? ErrorCode.enhanceYourCalm : ErrorCode.noError;
  }
}

const EMPTY = Buffer.alloc(0);
