// Reads the heads of the HTTP/2 frames of one direction of a connection (RFC 9113, "Frame Format"),
// which may be split over any buffers.

import { getBuffer, OK, result } from "./host";

export const DATA: u8 = 0;
export const HEADERS: u8 = 1;
export const RST_STREAM: u8 = 3;
export const END_STREAM: u8 = 1;

const HEAD_BYTES: u8 = 9;
/** How many bytes are copied at a time. Content beyond these is skipped without a copy. */
const PIECE_BYTES: u32 = 1024;

export class Frames {
  /** These four describe the frame whose head was read last or is being read. */
  contentBytes: u32 = 0;
  type: u8 = 0;
  flags: u8 = 0;
  stream: u32 = 0;
  /** How many bytes of the head have been read. */
  private headBytes: u8 = 0;
  /** How many of the next bytes are skipped, because they are a frame's content. */
  private skipBytes: u32 = 0;
  /** The copied piece of the buffer, then the address of its next byte and of its end. */
  private piece: usize = 0;
  private at: usize = 0;
  private end: usize = 0;
  /** How many bytes of the buffer have been copied or skipped. */
  private taken: u32 = 0;

  /** `skipBytes` is the number of bytes before the first frame. */
  constructor(skipBytes: u32) {
    this.skipBytes = skipBytes;
  }

  /**
   * Reads up to the end of the next frame's head and returns true, or false if the buffer ends
   * first. The call after that continues with the start of the next buffer.
   */
  next(kind: i32, bytes: u32): bool {
    while (this.at < this.end || this.fill(kind, bytes)) {
      if (this.skipBytes > 0) {
        const passed = min<u32>(this.skipBytes, <u32>(this.end - this.at));
        this.skipBytes -= passed;
        this.at += passed;
        continue;
      }
      const byte = load<u8>(this.at++);
      if (this.headBytes < 3) this.contentBytes = (this.headBytes == 0 ? 0 : this.contentBytes << 8) | byte;
      else if (this.headBytes == 3) this.type = byte;
      else if (this.headBytes == 4) this.flags = byte;
      // The first bit of a stream's number is reserved.
      else this.stream = this.headBytes == 5 ? byte & 127 : (this.stream << 8) | byte;
      this.headBytes++;
      if (this.headBytes < HEAD_BYTES) continue;
      this.headBytes = 0;
      this.skipBytes = this.contentBytes;
      return true;
    }
    return false;
  }

  private fill(kind: i32, bytes: u32): bool {
    if (this.piece != 0) heap.free(this.piece);
    this.piece = 0;
    this.at = 0;
    this.end = 0;
    const passed = min<u32>(this.skipBytes, bytes - this.taken);
    this.skipBytes -= passed;
    this.taken += passed;
    if (this.taken < bytes && getBuffer(kind, this.taken, min(PIECE_BYTES, bytes - this.taken), result, result + 4) == OK) {
      this.piece = load<usize>(result);
      this.at = this.piece;
      this.end = this.piece + load<usize>(result + 4);
      this.taken += <u32>(this.end - this.at);
      return this.end > this.at;
    }
    this.taken = 0;
    return false;
  }
}
