import { isAscii, isUtf8 } from 'node:buffer';
import {
  BACKSLASH,
  byteAt,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  hexQuad,
  isDigit,
  LETTER_U,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
} from './json-bytes.ts';
import { KeyMemory, KeyRegister } from './json-keys.ts';
import { MAX_NUMBER_BYTES, NOT_A_NUMBER, numberEnd, TOO_LARGE, TOO_LONG } from './json-number.ts';
import { PlainText } from './json-plain-text.ts';
import { ESCAPED, JsonTape } from './json-tape.ts';
import { SHORT_ESCAPES } from './json-text.ts';

/**
 * Reads strict JSON in one pass over the bytes. The result is a tape with the places of all values.
 * For 20 MiB of empty arrays JSON.parse needs 2 s and 560 MiB, and it loses large integers, `1.0`
 * and duplicates.
 *
 * Accepts what RFC 8259 accepts, in UTF-8, with these decisions:
 * - the text is one object with white space; invalid UTF-8 and a byte order mark are refused;
 * - arrays and objects nest at most 128 deep; there are at most 250,000 values, or `mostValues`;
 * - of members with the same key, at any depth, the last counts, and only it reaches the provider.
 *   Keys are compared decoded: `"a"` equals `"\u0061"`. The others are blanked out first;
 * - an escaped surrogate without its other half is refused: no provider could encode it;
 * - a number that overflows a double, or has more than 4,096 bytes, is refused;
 * - `\u0000` and the key `__proto__` are allowed; a raw control byte in a string is refused.
 */
export const MAX_DEPTH = 128;
export const MAX_VALUES = 250_000;

export interface ScannedObject {
  readonly kind: 'object';
  readonly bytes: Buffer;
  /** All keys and values, replaced ones too. Valid until the event loop continues. */
  readonly tape: JsonTape;
  /** True if a later member with the same key replaces another. */
  readonly hasReplaced: boolean;
  /** True if every byte is ASCII, and no character is escaped by its code point. */
  readonly isPlain: boolean;
}

export interface JsonProblem {
  readonly kind: 'problem';
  readonly problem: string;
}

/** Longest text for one step, 2 ms at worst. Longer texts take steps of this length. */
export const STEP_BYTES = 64 * 1024;

/** Next position after a failure. */
const FAILED = -1;

/** Tokens that may come next. */
const VALUE = 0;
const VALUE_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COMMA_OR_END = 4;
const REST_OF_STRING = 5;
const KEY_END = 6;

/** Objects with more keys end a step, because comparing keys takes long. */
const MANY_KEYS = STEP_BYTES / 4;

/** Texts that take one step share these, one after the other. */
const SHARED_TAPE = new JsonTape();
const SHARED_MEMORY = new KeyMemory();

export class JsonScan {
  readonly #bytes: Buffer;
  readonly #tape: JsonTape;
  readonly #keys: KeyRegister;
  readonly #plain: PlainText;
  /** Start of the next step. */
  #pos: number;
  #stop = 0;
  #next = VALUE;
  #problem = '';
  #values = 0;
  readonly #mostValues: number;
  /** Open arrays and objects: places on the tape, numbers in the register of keys. */
  readonly #open: number[] = [];
  readonly #openKeys: number[] = [];
  #inObject = false;
  #stringStart = 0;
  #isKey = false;
  #flags = 0;
  #hasCodePoints = false;

  constructor(bytes: Buffer, mostValues = MAX_VALUES) {
    const inOneStep = bytes.length <= STEP_BYTES;
    [this.#bytes, this.#mostValues] = [bytes, mostValues];
    this.#tape = inOneStep ? SHARED_TAPE : new JsonTape();
    this.#tape.clear();
    this.#keys = new KeyRegister(bytes, this.#tape, inOneStep ? SHARED_MEMORY : new KeyMemory());
    this.#plain = new PlainText(bytes);
    this.#pos = this.#begin();
  }

  /** Takes one step. True: it was the last. */
  step(): boolean {
    const length = this.#bytes.length;
    this.#stop = this.#pos + STEP_BYTES;
    let pos = this.#pos;
    while (this.#open.length > 0 && pos !== FAILED) {
      if (pos >= this.#stop && pos < length) {
        this.#pos = pos;
        return false;
      }
      if (this.#next === REST_OF_STRING) pos = this.#readString(pos);
      else {
        pos = skipSpace(this.#bytes, pos, Math.min(this.#stop, length));
        if (pos < this.#stop) pos = this.#readToken(pos);
      }
    }
    if (this.#problem === '' && skipSpace(this.#bytes, pos) !== length) this.#fail('something follows its end', pos);
    return true;
  }

  /** The result, available after the last step. */
  result(): ScannedObject | JsonProblem {
    if (this.#problem !== '') return { kind: 'problem', problem: this.#problem };
    const bytes = this.#bytes;
    return {
      kind: 'object',
      bytes,
      tape: this.#tape,
      hasReplaced: this.#keys.hasDuplicates,
      isPlain: !this.#hasCodePoints && isAscii(bytes),
    };
  }

  /** Position of the first member. */
  #begin(): number {
    const bytes = this.#bytes;
    const start = skipSpace(bytes, 0);
    if (bytes.length === 0) this.#problem = 'it is empty';
    else if (!isUtf8(bytes)) this.#problem = 'it is not UTF-8';
    else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
      this.#problem = 'it begins with a byte order mark';
    else if (start === bytes.length) this.#problem = 'it is empty';
    else if (bytes[start] !== OPEN_OBJECT) this.#problem = 'it is not an object';
    return this.#problem === '' ? this.#openNested(start, true) : FAILED;
  }

  /** Returns the next position, or `FAILED`, like all methods below. */
  #readToken(pos: number): number {
    const byte = byteAt(this.#bytes, pos);
    switch (this.#next) {
      case COMMA_OR_END:
        if (byte === (this.#inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return this.#close(pos);
        this.#next = this.#inObject ? KEY : VALUE;
        return byte === COMMA ? pos + 1 : this.#unexpected(pos);
      case KEY_OR_END:
        if (byte === CLOSE_OBJECT) return this.#close(pos);
        return byte === QUOTE ? this.#beginString(pos, true) : this.#unexpected(pos);
      case KEY:
        return byte === QUOTE ? this.#beginString(pos, true) : this.#unexpected(pos);
      case KEY_END:
        this.#next = VALUE;
        return byte === COLON ? pos + 1 : this.#unexpected(pos);
      case VALUE_OR_END:
        return byte === CLOSE_ARRAY ? this.#close(pos) : this.#readValue(pos, byte);
      default:
        return this.#readValue(pos, byte);
    }
  }

  #readValue(pos: number, byte: number): number {
    if (++this.#values > this.#mostValues) return this.#fail(`it has more than ${this.#mostValues} values`, pos);
    switch (byte) {
      case QUOTE:
        return this.#beginString(pos, false);
      case OPEN_OBJECT:
        return this.#openNested(pos, true);
      case OPEN_ARRAY:
        return this.#openNested(pos, false);
      default:
        if (byte === MINUS || isDigit(byte)) return this.#readNumber(pos);
        return this.#readLiteral(byte === 0x74 ? 'true' : byte === 0x66 ? 'false' : 'null', pos);
    }
  }

  #openNested(pos: number, isObject: boolean): number {
    if (this.#open.length === MAX_DEPTH) return this.#fail(`it nests deeper than ${MAX_DEPTH} levels`, pos);
    this.#open.push(this.#tape.add(pos, 0, 0));
    this.#openKeys.push(this.#keys.open());
    this.#inObject = isObject;
    this.#next = isObject ? KEY_OR_END : VALUE_OR_END;
    return pos + 1;
  }

  #close(pos: number): number {
    const { slots, length } = this.#tape;
    const place = this.#open.pop() as number;
    slots[place + 1] = pos + 1;
    slots[place + 2] = length;
    const firstKey = this.#openKeys.pop() as number;
    const keys = this.#inObject ? this.#keys.close(firstKey) : 0;
    if (keys > MANY_KEYS) this.#stop = pos;
    const outer = slots[this.#open.at(-1) ?? 0] as number;
    this.#inObject = this.#bytes[outer] === OPEN_OBJECT;
    this.#next = COMMA_OR_END;
    return pos + 1;
  }

  #beginString(start: number, isKey: boolean): number {
    this.#stringStart = start;
    this.#isKey = isKey;
    this.#flags = 0;
    return this.#readString(start + 1);
  }

  /** Reads to the end of the string, or to the end of this step. */
  #readString(start: number): number {
    const bytes = this.#bytes;
    let pos = start;
    do {
      pos = this.#plain.endFrom(pos);
      const byte = byteAt(bytes, pos);
      if (byte === QUOTE) return this.#endString(pos);
      if (pos === bytes.length) return this.#unexpected(pos);
      if (byte !== BACKSLASH) return this.#fail('a control character stands in a string', pos);
      this.#flags = ESCAPED;
      // Escapes often come in a row.
      do {
        pos = this.#escapeEnd(pos);
        if (pos === FAILED) return FAILED;
      } while (bytes[pos] === BACKSLASH && pos < this.#stop);
    } while (pos < this.#stop);
    this.#next = REST_OF_STRING;
    return pos;
  }

  #endString(quote: number): number {
    const start = this.#stringStart;
    const place = this.#tape.add(start, quote + 1, this.#flags);
    if (!this.#isKey) {
      this.#next = COMMA_OR_END;
      return quote + 1;
    }
    this.#keys.add(place, start + 1, quote, this.#flags === ESCAPED);
    this.#next = KEY_END;
    return quote + 1;
  }

  #escapeEnd(pos: number): number {
    const bytes = this.#bytes;
    const kind = byteAt(bytes, pos + 1);
    if (kind !== LETTER_U) return SHORT_ESCAPES[kind] !== 0 ? pos + 2 : this.#unexpected(pos + 1);
    this.#hasCodePoints = true;
    const unit = hexQuad(bytes, pos + 2);
    if (unit < 0) return this.#unexpected(pos + 2);
    if (unit < 0xd800 || unit > 0xdfff) return pos + 6;
    const isPair = unit < 0xdc00 && byteAt(bytes, pos + 6) === BACKSLASH && byteAt(bytes, pos + 7) === LETTER_U;
    const low = isPair ? hexQuad(bytes, pos + 8) : -1;
    return low >= 0xdc00 && low <= 0xdfff ? pos + 12 : this.#fail('it has half of a surrogate pair', pos);
  }

  #readNumber(start: number): number {
    const end = numberEnd(this.#bytes, start);
    if (end === TOO_LARGE) return this.#fail('a number is out of range', start);
    if (end === TOO_LONG) return this.#fail(`a number is longer than ${MAX_NUMBER_BYTES} bytes`, start);
    return end < 0 ? this.#unexpected(NOT_A_NUMBER - end) : this.#endScalar(start, end);
  }

  #readLiteral(word: string, start: number): number {
    for (let i = 0; i < word.length; i++) {
      if (byteAt(this.#bytes, start + i) !== word.charCodeAt(i)) return this.#unexpected(start + i);
    }
    return this.#endScalar(start, start + word.length);
  }

  #endScalar(start: number, end: number): number {
    this.#tape.add(start, end, 0);
    this.#next = COMMA_OR_END;
    return end;
  }

  #unexpected(pos: number): number {
    if (pos >= this.#bytes.length) return this.#fail('it ends too early', pos);
    return this.#fail('something unexpected stands there', pos);
  }

  #fail(problem: string, pos: number): number {
    this.#problem = `${problem} (byte ${pos})`;
    return FAILED;
  }
}
