/** A Buffer, or bytes that are valid only during the call. */
export interface CopyableBytes {
  copy(target: Uint8Array, targetStart: number, start: number, end: number): number;
}

const NONE = Buffer.alloc(0);
/** Longer buffers have memory of their own instead of a part of Node's pool, and can be freed. */
const POOLED_BYTES = 4096;

/**
 * Frees the memory of a buffer at once, unless it is a part of Node's pool. Left to the garbage
 * collector, it would cause full collections. All views of the memory are empty afterwards. It must
 * not be in use outside V8, for example by a pending write.
 */
export function freeMemory({ buffer, byteLength }: Buffer): void {
  if (byteLength > 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Joins pieces in a buffer that doubles its size, so that tiny pieces cost no object each. */
export class GrowingBytes {
  readonly #expectedBytes: number;
  #buffer = NONE;
  #length = 0;

  /** The announced length, if any. It is not trusted: at most twice the appended bytes are kept. */
  constructor(expectedBytes = 0) {
    this.#expectedBytes = expectedBytes;
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: CopyableBytes, start: number, end: number): void {
    const needed = this.#length + end - start;
    if (needed > this.#buffer.length) {
      const room = this.#roomFor(needed);
      const grown = room < POOLED_BYTES ? Buffer.allocUnsafe(room) : Buffer.allocUnsafeSlow(room);
      this.#buffer.copy(grown, 0, 0, this.#length);
      freeMemory(this.#buffer);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length, start, end);
    this.#length = needed;
  }

  /** All bytes so far, valid until the next `append`. */
  view(): Buffer {
    return this.#length === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#length);
  }

  /** Drops the bytes, but keeps the memory. */
  clear(): void {
    this.#length = 0;
  }

  free(): void {
    freeMemory(this.#buffer);
    this.#buffer = NONE;
    this.#length = 0;
  }

  /** Hands the bytes over to the caller. */
  take(): Buffer {
    const all = this.view();
    this.#buffer = NONE;
    this.#length = 0;
    return all;
  }

  #roomFor(needed: number): number {
    if (needed <= this.#expectedBytes) return Math.min(this.#expectedBytes, 2 * needed);
    return Math.max(needed, 2 * this.#length);
  }
}
