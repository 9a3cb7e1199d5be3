import type { CopyableBytes } from './borrowed-bytes.ts';
import { Flag, FRAME_HEAD_BYTES, FrameType } from './protocol.ts';

const FIRST_BYTES = 16 * 1024;

/** Collects frames for one write, in memory that is reused. */
export class FrameBuffer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All frames so far. Valid until the first frame is added after `clear`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  /** Adds a frame whose payload is `payload` from `start` to before `end`. */
  add(type: number, flags: number, streamId: number, payload: CopyableBytes, start: number, end: number): void {
    this.#head(type, flags, streamId, end - start);
    this.#length += payload.copy(this.#bytes, this.#length, start, end);
  }

  addHeaders(streamId: number, block: Buffer, endStream: boolean): void {
    const flags = Flag.endHeaders | (endStream ? Flag.endStream : 0);
    this.add(FrameType.headers, flags, streamId, block, 0, block.length);
  }

  /** Adds a frame with one number: the code of RST_STREAM, or the bytes of WINDOW_UPDATE. */
  addNumber(type: number, streamId: number, value: number): void {
    this.#head(type, 0, streamId, 4);
    this.#length = this.#bytes.writeUInt32BE(value, this.#length);
  }

  #head(type: number, flags: number, streamId: number, payloadBytes: number): void {
    this.#makeRoom(FRAME_HEAD_BYTES + payloadBytes);
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = payloadBytes >>> 16;
    bytes[at++] = payloadBytes >>> 8;
    bytes[at++] = payloadBytes;
    bytes[at++] = type;
    bytes[at++] = flags;
    bytes[at++] = streamId >>> 24;
    bytes[at++] = streamId >>> 16;
    bytes[at++] = streamId >>> 8;
    bytes[at++] = streamId;
    this.#length = at;
  }

  #makeRoom(moreBytes: number): void {
    const needed = this.#length + moreBytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
