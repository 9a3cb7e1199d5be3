import { BACKSLASH, QUOTE, SPACE } from './json-bytes.ts';

/** Finds the first quote, backslash or control character of a string, four bytes at a time. */
export class PlainText {
  readonly #bytes: Buffer;
  /** Bytes from the word boundary before the body's first byte to that byte. */
  readonly #shift: number;
  #words: Int32Array | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#shift = bytes.byteOffset % WORD_BYTES;
  }

  /** Returns the first position from `start` on without plain text, or the length of the bytes. */
  endFrom(start: number): number {
    const bytes = this.#bytes;
    const shift = this.#shift;
    const { length } = bytes;
    let pos = start;
    for (; ((pos + shift) & WORD_BITS) !== 0 && pos < length; pos++) {
      if (ENDS_PLAIN_TEXT[bytes[pos] as number] !== 0) return pos;
    }
    const words = this.#wordsOfBody();
    let index = (pos + shift) >> 2;
    for (; index < words.length; index++) {
      const ends = endsIn(words[index] as number);
      if (ends !== 0) return index * WORD_BYTES - shift + firstOf(ends);
    }
    for (pos = Math.max(pos, index * WORD_BYTES - shift); pos < length; pos++) {
      if (ENDS_PLAIN_TEXT[bytes[pos] as number] !== 0) return pos;
    }
    return pos;
  }

  #wordsOfBody(): Int32Array {
    const { buffer, byteOffset, length } = this.#bytes;
    this.#words ??= new Int32Array(buffer, byteOffset - this.#shift, (length + this.#shift) >> 2);
    return this.#words;
  }
}

const WORD_BYTES = 4;
const WORD_BITS = 3;

/**
 * Sets the highest bit of each byte that ends plain text, and perhaps of bytes after the first such
 * byte. `x - n` borrows into the highest bit if x < n. XOR with 0x02 maps the quote to 0x20 and the
 * control characters below it, and nothing else below 0x21. XOR with the backslash makes it 0, the
 * only byte below 1. The numbers are literals: with named constants the loop takes five times as
 * long.
 */
function endsIn(word: number): number {
  const turned = word ^ 0x02020202;
  const backslashes = word ^ 0x5c5c5c5c;
  return ((turned - 0x21212121) | (backslashes - 0x01010101)) & ~word & 0x80808080;
}

/** The place of the first byte whose highest bit is set. The lowest byte of a word is its first. */
function firstOf(ends: number): number {
  return (31 - Math.clz32(ends & -ends)) >> 3;
}

const ENDS_PLAIN_TEXT = new Uint8Array(256);
ENDS_PLAIN_TEXT.fill(1, 0, SPACE);
ENDS_PLAIN_TEXT[QUOTE] = 1;
ENDS_PLAIN_TEXT[BACKSLASH] = 1;
