declare const borrowed: unique symbol;

/**
 * Bytes in memory that is reused for the next read. They are valid until the function that received
 * them returns: kept longer, they would show one client's request to another. The type has none of
 * Buffer's methods that share memory (`subarray`, `slice`, `buffer`) and is not assignable
 * to Buffer or Uint8Array, so bytes that are kept must be copied. At run time it is the Buffer
 * itself, which costs nothing.
 */
export interface BorrowedBytes {
  readonly [borrowed]: true;
  readonly length: number;
  readonly [at: number]: number;
  /** Copies the bytes from `start` to before `end` to `target`. Returns their number. */
  copy(target: Uint8Array, targetStart: number, start: number, end: number): number;
  toString(encoding: 'latin1' | 'hex', start: number, end: number): string;
  readUInt8(at: number): number;
  readUInt16BE(at: number): number;
  readUInt32BE(at: number): number;
  readUIntBE(at: number, bytes: number): number;
}

/** Bytes that can be copied: borrowed ones or a Buffer. */
export type CopyableBytes = Pick<BorrowedBytes, 'copy'>;

/** Marks a Buffer as borrowed, before it is handed to a reader. */
export function lend(bytes: Buffer): BorrowedBytes {
  return bytes as Buffer & BorrowedBytes;
}

export function copyOf(bytes: BorrowedBytes, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
