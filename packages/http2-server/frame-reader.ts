import { ErrorCode, Flag, FRAME_HEAD_BYTES, FrameType, PREFACE } from './protocol.ts';

/** Who takes the frames. Bytes are handed on as places in a buffer, since most frames are read where they lie and then forgotten. */
export interface FrameHandler {
  /** A whole frame; DATA only when it is padded. */
  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): ErrorCode;
  /** What is here of a DATA frame without padding. `last`: its end, and that of the stream. */
  data(streamId: number, bytes: Buffer, start: number, end: number, last: boolean): ErrorCode;
}

/** Cuts what a client sends into frames, however it arrives. DATA is never collected here: whoever joins messages copies it once. */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #maxFrameBytes: number;
  #prefaceBytes = 0;
  /** A head that arrived in pieces. */
  readonly #head: Buffer = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  /** Of the frame under way: bytes of its payload that are still to come; negative while its head is. */
  #left = -1;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** A payload that arrives in pieces. */
  #collected: Buffer | undefined;
  #collectedBytes = 0;

  constructor(handler: FrameHandler, maxFrameBytes: number) {
    this.#handler = handler;
    this.#maxFrameBytes = maxFrameBytes;
  }

  /** The reader is done for once it has returned an error. */
  push(chunk: Buffer): ErrorCode {
    let at = 0;
    if (this.#prefaceBytes < PREFACE.length) {
      for (; at < chunk.length && this.#prefaceBytes < PREFACE.length; at++) {
        if (chunk[at] !== PREFACE[this.#prefaceBytes++]) return ErrorCode.protocol;
      }
    }
    for (;;) {
      if (this.#left < 0) {
        at = this.#readHead(chunk, at);
        if (this.#left < 0) return ErrorCode.noError;
        if (this.#left > this.#maxFrameBytes) return ErrorCode.frameSize;
      }
      const end = Math.min(at + this.#left, chunk.length);
      if (end === at && this.#left > 0) return ErrorCode.noError;
      this.#left -= end - at;
      const error = this.#take(chunk, at, end);
      if (error !== ErrorCode.noError) return error;
      at = end;
      if (this.#left === 0) this.#left = -1;
    }
  }

  /** Returns the place behind what it took. */
  #readHead(chunk: Buffer, at: number): number {
    if (this.#headBytes === 0 && chunk.length - at >= FRAME_HEAD_BYTES) {
      this.#parseHead(chunk, at);
      return at + FRAME_HEAD_BYTES;
    }
    const end = Math.min(at + FRAME_HEAD_BYTES - this.#headBytes, chunk.length);
    chunk.copy(this.#head, this.#headBytes, at, end);
    this.#headBytes += end - at;
    if (this.#headBytes === FRAME_HEAD_BYTES) {
      this.#headBytes = 0;
      this.#parseHead(this.#head, 0);
    }
    return end;
  }

  #parseHead(bytes: Buffer, at: number): void {
    this.#left = bytes.readUIntBE(at, 3);
    this.#type = bytes.readUInt8(at + 3);
    this.#flags = bytes.readUInt8(at + 4);
    this.#streamId = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
  }

  #take(chunk: Buffer, start: number, end: number): ErrorCode {
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
    if (this.#left > 0) return ErrorCode.noError;
    this.#collected = undefined;
    this.#collectedBytes = 0;
    return this.#handler.frame(this.#type, this.#flags, this.#streamId, collected, 0, collected.length);
  }
}
