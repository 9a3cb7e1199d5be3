const NONE = Buffer.alloc(0);

/** Bytes put together from pieces, in a buffer that doubles: pieces of one byte must not cost an object each. */
export class GrowingBytes {
  #buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(bytes: Buffer, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(needed > 2 * this.#length ? needed : 2 * this.#length);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length, start, end);
    this.#length = needed;
  }

  /** All of them, until the next `append`. */
  view(): Buffer {
    return this.#length === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  /** Forgets them, and keeps the room. */
  clear(): void {
    this.#length = 0;
  }

  /** Hands them over. */
  take(): Buffer {
    const all = this.view();
    this.#buffer = NONE;
    this.#length = 0;
    return all;
  }
}
