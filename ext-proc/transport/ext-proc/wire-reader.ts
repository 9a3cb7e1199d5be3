import type { BorrowedBytes } from '#packages/http2-server/borrowed-bytes.ts';

/**
 * Reads a protobuf message in place, from borrowed bytes, so a reader must not be stored. Throws on
 * a message that is invalid or reaches beyond its end. Envoy sends none, so that is a bug.
 */
export class WireReader {
  readonly bytes: BorrowedBytes;
  at: number;
  end: number;

  constructor(bytes: BorrowedBytes, start: number, end: number) {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
  }

  get more(): boolean {
    return this.at < this.end;
  }

  /** Reads a tag, a length, or a number of at most 53 bits. */
  varint(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; factor < 2 ** 70; factor *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError('ext_proc: a number without an end');
  }

  /** Reads the length of a field, and returns where the field ends. */
  fieldEnd(): number {
    const length = this.varint();
    const end = this.at + length;
    if (end > this.end) throw new RangeError('ext_proc: a field reaches beyond its message');
    return end;
  }

  /** Bounds the reader to the field whose length comes next. Returns the argument for `leave`. */
  enter(): number {
    const outerEnd = this.end;
    this.end = this.fieldEnd();
    return outerEnd;
  }

  /** Restores the bound, at the end of the field that was entered. */
  leave(outerEnd: number): void {
    this.end = outerEnd;
  }

  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.varint();
        return;
      case 1:
        this.#skipBytes(8);
        return;
      case 2:
        this.at = this.fieldEnd();
        return;
      case 5:
        this.#skipBytes(4);
        return;
      default:
        throw new RangeError('ext_proc: a field of no known kind');
    }
  }

  #skipBytes(count: number): void {
    this.at += count;
    if (this.at > this.end) throw new RangeError('ext_proc: a field reaches beyond its message');
  }

  #byte(): number {
    if (this.at >= this.end) throw new RangeError('ext_proc: a field reaches beyond its message');
    return this.bytes[this.at++] ?? 0;
  }
}
