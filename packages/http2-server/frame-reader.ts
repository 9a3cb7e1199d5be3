import { type BorrowedBytes, lend } from './borrowed-bytes.ts';
import { Flag, FRAME_HEAD_BYTES, FrameType, Http2ErrorCode, PREFACE } from './protocol.ts';

/** Receives frames. Payloads are positions in borrowed bytes: most are read only once. */
export interface FrameHandler {
  /** Called with a whole frame, but for DATA only if it is padded. */
  frame(
    type: number,
    flags: number,
    streamId: number,
    bytes: BorrowedBytes,
    start: number,
    end: number,
  ): Http2ErrorCode;
  /** Called with a part of an unpadded DATA frame. `last`: it ends frame and stream. */
  data(streamId: number, bytes: BorrowedBytes, start: number, end: number, last: boolean): Http2ErrorCode;
}

/**
 * Cuts the bytes of a client into frames, whatever the sizes of its packets. DATA is never
 * collected here: the reader of a stream copies it once, into its message.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #maxFrameBytes: number;
  #prefaceBytes = 0;
  /** A frame's head that arrived in pieces. */
  readonly #head: Buffer = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  /** Missing bytes of the current frame's payload. Negative while its head is incomplete. */
  #left = -1;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** A frame's payload that arrived in pieces. */
  #collected: Buffer | undefined;
  #collectedBytes = 0;

  constructor(handler: FrameHandler, maxFrameBytes: number) {
    this.#handler = handler;
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** Reads the first `length` bytes. After an error the reader must not be used again. */
  push(chunk: BorrowedBytes, length: number): Http2ErrorCode {
    let at = 0;
    if (this.#prefaceBytes < PREFACE.length) {
      for (; at < length && this.#prefaceBytes < PREFACE.length; at++) {
        if (chunk[at] !== PREFACE[this.#prefaceBytes++]) return Http2ErrorCode.protocol;
      }
    }
    for (;;) {
      if (this.#left < 0) {
        at = this.#readHead(chunk, at, length);
        if (this.#left < 0) return Http2ErrorCode.noError;
        if (this.#left > this.#maxFrameBytes) return Http2ErrorCode.frameSize;
      }
      const end = Math.min(at + this.#left, length);
      if (end === at && this.#left > 0) return Http2ErrorCode.noError;
      this.#left -= end - at;
      const error = this.#take(chunk, at, end);
      if (error !== Http2ErrorCode.noError) return error;
      at = end;
      if (this.#left === 0) this.#left = -1;
    }
  }

  /** Returns the position after the bytes that it has read. */
  #readHead(chunk: BorrowedBytes, at: number, length: number): number {
    if (this.#headBytes === 0 && length - at >= FRAME_HEAD_BYTES) {
      this.#parseHead(chunk, at);
      return at + FRAME_HEAD_BYTES;
    }
    const end = Math.min(at + FRAME_HEAD_BYTES - this.#headBytes, length);
    chunk.copy(this.#head, this.#headBytes, at, end);
    this.#headBytes += end - at;
    if (this.#headBytes === FRAME_HEAD_BYTES) {
      this.#headBytes = 0;
      this.#parseHead(lend(this.#head), 0);
    }
    return end;
  }

  #parseHead(bytes: BorrowedBytes, at: number): void {
    this.#left = bytes.readUIntBE(at, 3);
    this.#type = bytes.readUInt8(at + 3);
    this.#flags = bytes.readUInt8(at + 4);
    this.#streamId = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
  }

  #take(chunk: BorrowedBytes, start: number, end: number): Http2ErrorCode {
    if (this.#type === FrameType.data && (this.#flags & Flag.padded) === 0) {
      const last = this.#left === 0 && (this.#flags & Flag.endStream) !== 0;
      return this.#handler.data(this.#streamId, chunk, start, end, last);
    }
    if (this.#collected === undefined) {
      if (this.#left === 0) return this.#handler.frame(this.#type, this.#flags, this.#streamId, chunk, start, end);
      this.#collected = Buffer.allocUnsafe(end - start + this.#left);
    }
    const collected = this.#collected;
    this.#collectedBytes += chunk.copy(collected, this.#collectedBytes, start, end);
    if (this.#left > 0) return Http2ErrorCode.noError;
    this.#collected = undefined;
    this.#collectedBytes = 0;
    return this.#handler.frame(this.#type, this.#flags, this.#streamId, lend(collected), 0, collected.length);
  }
}
