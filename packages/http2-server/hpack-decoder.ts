import { type BorrowedBytes, copyOf, lend } from './borrowed-bytes.ts';
import { STATIC_FIELDS } from './hpack-static-table.ts';
import { decodeHuffman } from './huffman.ts';
import { Field, type RequestFields } from './request-fields.ts';

/** HPACK's default, which this server never changes. */
const MAX_TABLE_BYTES = 4096;
/** More than any length that fits into a frame. Larger integers are refused, before an overflow. */
const MAX_INTEGER = 2 ** 28;

/** Reads header blocks (RFC 7541). A field in a table is not checked again: an array access. */
export class HpackDecoder {
  /** The dynamic table, oldest field first. At most 128 fields fit. */
  readonly #table: Field[] = [];
  #tableBytes = 0;
  #tableLimitBytes = MAX_TABLE_BYTES;
  /** The last literal that is in no table, as Envoy sends `:path`: the same for all requests. */
  #literal: Field | undefined;
  #literalBytes: Buffer = EMPTY;
  /** Borrowed, and dropped before `decode` returns. */
  #bytes: BorrowedBytes = NO_BYTES;
  #at = 0;
  #end = 0;

  /** Returns false for an invalid block. The connection must end: its table is undefined. */
  decode(bytes: BorrowedBytes, start: number, end: number, fields: RequestFields): boolean {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    const understood = this.#readBlock(fields);
    this.#bytes = NO_BYTES;
    return understood;
  }

  #readBlock(fields: RequestFields): boolean {
    let sizeMayChange = true;
    while (this.#at < this.#end) {
      const first = this.#bytes[this.#at] ?? 0;
      if ((first & 0xe0) === 0x20) {
        if (!sizeMayChange || !this.#resize(this.#readInteger(0x1f))) return false;
        continue;
      }
      sizeMayChange = false;
      const field = first >= 0x80 ? this.#lookUp(this.#readInteger(0x7f)) : this.#readLiteral(first);
      if (field === undefined) return false;
      fields.add(field);
    }
    return true;
  }

  #readLiteral(first: number): Field | undefined {
    if (this.#isSameLiteral()) {
      this.#at += this.#literalBytes.length;
      return this.#literal;
    }
    const start = this.#at;
    const indexed = first >= 0x40;
    const nameIndex = this.#readInteger(indexed ? 0x3f : 0x0f);
    if (nameIndex < 0) return undefined;
    const name = nameIndex === 0 ? this.#readString() : this.#lookUp(nameIndex)?.name;
    if (name === undefined) return undefined;
    const value = this.#readString();
    if (value === undefined) return undefined;
    const field = new Field(name, value);
    if (indexed) this.#remember(field);
    else if (nameIndex < STATIC_FIELDS.length) this.#keepLiteral(field, start);
    return field;
  }

  /** Compares the last literal with the next bytes. Its own bytes tell where it ends. */
  #isSameLiteral(): boolean {
    const same = this.#literalBytes;
    if (same.length === 0 || this.#at + same.length > this.#end) return false;
    for (let at = 0; at < same.length; at++) if (same[at] !== this.#bytes[this.#at + at]) return false;
    return true;
  }

  #keepLiteral(field: Field, start: number): void {
    this.#literal = field;
    this.#literalBytes = copyOf(this.#bytes, start, this.#at);
  }

  #lookUp(index: number): Field | undefined {
    if (index < STATIC_FIELDS.length) return STATIC_FIELDS[index];
    return this.#table[this.#table.length - 1 - (index - STATIC_FIELDS.length)];
  }

  #remember(field: Field): void {
    this.#evictTo(this.#tableLimitBytes - field.sizeBytes);
    if (field.sizeBytes > this.#tableLimitBytes) return;
    this.#table.push(field);
    this.#tableBytes += field.sizeBytes;
  }

  #resize(limitBytes: number): boolean {
    if (limitBytes < 0 || limitBytes > MAX_TABLE_BYTES) return false;
    this.#tableLimitBytes = limitBytes;
    this.#evictTo(limitBytes);
    return true;
  }

  #evictTo(limitBytes: number): void {
    while (this.#tableBytes > limitBytes) {
      const oldest = this.#table.shift();
      if (oldest === undefined) return;
      this.#tableBytes -= oldest.sizeBytes;
    }
  }

  /**
   * Reads an integer (RFC 7541, Integer Representation). `mask` has the bits of its prefix.
   * Negative if the integer is cut off or above MAX_INTEGER.
   */
  #readInteger(mask: number): number {
    const prefix = (this.#bytes[this.#at++] ?? 0) & mask;
    if (prefix < mask) return prefix;
    let value = mask;
    for (let factor = 1; this.#at < this.#end && value < MAX_INTEGER && factor < MAX_INTEGER; factor *= 128) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    return -1;
  }

  #readString(): string | undefined {
    if (this.#at >= this.#end) return undefined;
    const huffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#readInteger(0x7f);
    const start = this.#at;
    if (length < 0 || start + length > this.#end) return undefined;
    this.#at = start + length;
    return huffman ? decodeHuffman(this.#bytes, start, this.#at) : this.#bytes.toString('latin1', start, this.#at);
  }
}

const EMPTY = Buffer.alloc(0);
const NO_BYTES = lend(EMPTY);
