import { byteAt, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';
import type { ScannedObject } from './json-scan.ts';
import { ENTRY, ESCAPED, type JsonTape } from './json-tape.ts';
import { textUpTo } from './json-text.ts';
import { isCacheMarker, nestedNameBesidesCase, wordAt } from './json-words.ts';

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** Positions of a whole value, or of the text between quotes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a scanned text value by value along its tape, and decodes only the requested values. The
 * cursor is at a value, and every reading method moves it behind that value. Replaced members are
 * skipped.
 */
export class JsonCursor {
  readonly bytes: Buffer;
  readonly #tape: JsonTape;
  #place = 0;
  #keyPlace = 0;

  /** Begins at the outermost object. */
  constructor({ bytes, tape }: Pick<ScannedObject, 'bytes' | 'tape'>) {
    this.bytes = bytes;
    this.#tape = tape;
  }

  /** Copies the cursor, at the same value. */
  copy(): JsonCursor {
    const copy = new JsonCursor({ bytes: this.bytes, tape: this.#tape });
    copy.#place = this.#place;
    return copy;
  }

  get start(): number {
    return this.#tape.slots[this.#place] as number;
  }

  get end(): number {
    return this.#tape.slots[this.#place + 1] as number;
  }

  kind(): JsonKind {
    switch (byteAt(this.bytes, this.start)) {
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
    this.#place = this.#tape.behind(this.bytes, this.#place);
  }

  /** Reads a string as a word of `json-words.ts`. Empty if it is none of them. */
  word(): string {
    const word = wordAt(this.bytes, this.start + 1, this.end - 1, this.isEscaped);
    this.skip();
    return word;
  }

  /** Reads the text of a string, cut to this many characters. */
  text(characters: number): string {
    const text = textUpTo(characters, this.bytes, this.start + 1, this.end - 1);
    this.skip();
    return text;
  }

  get isEscaped(): boolean {
    return ((this.#tape.slots[this.#place + 2] as number) & ESCAPED) !== 0;
  }

  /** Steps over a value and returns its position in the text. */
  span(): Span {
    const { start, end } = this;
    this.skip();
    return { start, end };
  }

  /** As `span`, for a string without its quotes. */
  textSpan(): Span {
    const { start, end } = this.span();
    return { start: start + 1, end: end - 1 };
  }

  /** Returns a member's value as a word; empty if it is none. The cursor stays at the object. */
  wordOfMember(name: string): string {
    const place = this.#place;
    const word = this.eachMember((key) => {
      if (key === name && this.kind() === 'string') return this.word();
      return void this.skip();
    });
    this.#place = place;
    return word ?? '';
  }

  number(): number {
    const { start, end } = this.span();
    return Number(this.bytes.toString('latin1', start, end));
  }

  boolean(): boolean {
    const value = byteAt(this.bytes, this.start) === 0x74;
    this.skip();
    return value;
  }

  /**
   * Calls `read` at each member's value, which it must step over, and stops at the first result.
   * The cursor must be at an object. `read` gets the key as a word; `keyText` returns its text.
   */
  eachMember<Result>(read: (word: string) => Result | undefined): Result | undefined {
    const { slots } = this.#tape;
    const behind = slots[this.#place + 2] as number;
    this.#place += ENTRY;
    while (this.#place < behind) {
      const next = this.#tape.behindReplaced(this.#place);
      if (next !== undefined) {
        this.#place = next;
        continue;
      }
      const word = this.#readKey();
      this.#place += ENTRY;
      const result = read(word);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  /** Calls `read` for each key of an object, even replaced ones, in the order of the body. */
  eachKey<Result>(read: (word: string) => Result | undefined): Result | undefined {
    const behind = this.#tape.slots[this.#place + 2] as number;
    this.#place += ENTRY;
    while (this.#place < behind) {
      const result = read(this.#readKey());
      if (result !== undefined) return result;
      this.#place += ENTRY;
      this.skip();
    }
    return undefined;
  }

  /** As `eachMember`, for the elements of an array. */
  eachElement<Result>(read: (index: number) => Result | undefined): Result | undefined {
    const behind = this.#tape.slots[this.#place + 2] as number;
    this.#place += ENTRY;
    for (let index = 0; this.#place < behind; index++) {
      const result = read(index);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  get keyStart(): number {
    return this.#tape.slots[this.#keyPlace] as number;
  }

  /** The text of the key that was read last, cut to this many characters. */
  keyText(characters: number): string {
    const [start, end] = this.#key();
    return textUpTo(characters, this.bytes, start, end);
  }

  /** Returns the nested name that differs from the last key only by case, or an empty text. */
  nameBesidesCase(): string {
    return nestedNameBesidesCase(this.bytes, ...this.#key());
  }

  /** True if the key that was read last is the name of a cache marker, in any case. */
  isCacheMarker(): boolean {
    return isCacheMarker(this.bytes, ...this.#key());
  }

  #readKey(): string {
    this.#keyPlace = this.#place;
    const { slots } = this.#tape;
    const place = this.#place;
    const isEscaped = ((slots[place + 2] as number) & ESCAPED) !== 0;
    return wordAt(this.bytes, (slots[place] as number) + 1, (slots[place + 1] as number) - 1, isEscaped);
  }

  #key(): readonly [start: number, end: number, isEscaped: boolean] {
    const { slots } = this.#tape;
    const place = this.#keyPlace;
    const isEscaped = ((slots[place + 2] as number) & ESCAPED) !== 0;
    return [(slots[place] as number) + 1, (slots[place + 1] as number) - 1, isEscaped];
  }
}
