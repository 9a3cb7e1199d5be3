import assert from 'node:assert';
import {
  BACKSLASH,
  byteAt,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
} from './json-bytes.ts';
import { unescapeText } from './json-text.ts';
import { frequentWord } from './json-words.ts';

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/**
 * Reads a text that the scanner has accepted, value by value, and decodes only what is asked for. It stands at the first byte of a
 * value; every reading method leaves it behind that value. Nothing is checked again.
 */
export class JsonCursor {
  readonly bytes: Buffer;
  pos: number;

  constructor(bytes: Buffer, pos: number) {
    this.bytes = bytes;
    this.pos = pos;
  }

  kind(): JsonKind {
    switch (byteAt(this.bytes, this.pos)) {
      case OPEN_OBJECT:
        return 'object';
      case OPEN_ARRAY:
        return 'array';
      case QUOTE:
        return 'string';
      case 0x74:
      case 0x66:
        return 'boolean';
      case 0x6e:
        return 'null';
      default:
        return 'number';
    }
  }

  /** Steps over a value of any kind. */
  skip(): void {
    const first = byteAt(this.bytes, this.pos);
    if (first === QUOTE) this.pos = this.#afterString(this.pos);
    else if (first === OPEN_OBJECT || first === OPEN_ARRAY) this.#skipNested();
    else this.#skipScalar();
  }

  /** The string's text. */
  text(): string {
    const start = this.pos;
    this.pos = this.#afterString(start);
    const known = frequentWord(this.bytes, start + 1, this.pos - 1);
    if (known !== undefined) return known;
    const text = this.bytes.toString('utf8', start + 1, this.pos - 1);
    return text.includes('\\') ? Buffer.from(unescapeText(this.bytes, start + 1, this.pos - 1)).toString() : text;
  }

  /** Steps over a string and says where its text stands, between the quotes. */
  textSpan(): { readonly start: number; readonly end: number } {
    const start = this.pos;
    this.pos = this.#afterString(start);
    return { start: start + 1, end: this.pos - 1 };
  }

  number(): number {
    const start = this.pos;
    this.#skipScalar();
    return Number(this.bytes.toString('latin1', start, this.pos));
  }

  boolean(): boolean {
    const value = byteAt(this.bytes, this.pos) === 0x74;
    this.#skipScalar();
    return value;
  }

  /** Calls `read` at each member's value, which it must step over; stops at the first answer. The cursor stands at an object. */
  eachMember<Answer>(read: (key: string) => Answer | undefined): Answer | undefined {
    this.pos = skipSpace(this.bytes, this.pos + 1);
    while (byteAt(this.bytes, this.pos) !== CLOSE_OBJECT) {
      const key = this.text();
      this.pos = skipSpace(this.bytes, skipSpace(this.bytes, this.pos) + 1);
      const answer = read(key);
      if (answer !== undefined) return answer;
      this.#nextSibling();
    }
    this.pos++;
    return undefined;
  }

  /** As `eachMember`, for the elements of an array. */
  eachElement<Answer>(read: (index: number) => Answer | undefined): Answer | undefined {
    this.pos = skipSpace(this.bytes, this.pos + 1);
    for (let index = 0; byteAt(this.bytes, this.pos) !== CLOSE_ARRAY; index++) {
      const answer = read(index);
      if (answer !== undefined) return answer;
      this.#nextSibling();
    }
    this.pos++;
    return undefined;
  }

  #nextSibling(): void {
    this.pos = skipSpace(this.bytes, this.pos);
    if (byteAt(this.bytes, this.pos) === COMMA) this.pos = skipSpace(this.bytes, this.pos + 1);
  }

  #afterString(start: number): number {
    const { bytes } = this;
    const near = Math.min(start + NEAR, bytes.length);
    let pos = start + 1;
    while (pos < near) {
      const byte = bytes[pos] as number;
      if (byte === QUOTE) return pos + 1;
      pos += byte === BACKSLASH ? 2 : 1;
    }
    return afterLongString(bytes, pos);
  }

  #skipNested(): void {
    const { bytes } = this;
    let depth = 0;
    let pos = this.pos;
    do {
      const byte = byteAt(bytes, pos);
      if (byte === QUOTE) {
        pos = this.#afterString(pos);
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
      pos++;
    } while (depth > 0);
    this.pos = pos;
  }

  /** A number or a word. */
  #skipScalar(): void {
    let pos = this.pos;
    while (IN_SCALAR[byteAt(this.bytes, pos)] === 1) pos++;
    this.pos = pos;
  }
}

/** Within this many bytes a loop finds the end of a string sooner than a search, which costs 50 ns to call. */
const NEAR = 128;

/** Behind the closing quote: the first one from `from` on, where no escape is cut, with an even number of backslashes before it. */
function afterLongString(bytes: Buffer, from: number): number {
  let quote = bytes.indexOf(QUOTE, from);
  for (;;) {
    assert(quote >= 0, 'a text that was not scanned');
    let first = quote;
    while (first > from && bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
    quote = bytes.indexOf(QUOTE, quote + 1);
  }
}

const IN_SCALAR = new Uint8Array(256);
for (const character of '0123456789+.eEtrufalsn') IN_SCALAR[character.charCodeAt(0)] = 1;
IN_SCALAR[MINUS] = 1;
