import * as json from '../json/json-bytes.ts';
import { characterEnd, escapedCharacter, escapeEnd } from '../json/json-text.ts';

/**
 * Bounds the tokens that JSON gains where a chat template parses it and writes it again, beyond
 * what the tally has for its bytes. The arguments of calls (in a string, with escapes) get spaces,
 * and in some templates tags in place of names; definitions of tools are indented. Both may have
 * longer numbers.
 */
export class JsonGrowth {
  tokens = 0;
  readonly #isText: boolean;
  #isInString = false;
  #depth = 0;
  /** Digits just before the next character. */
  #digits = 0;

  constructor(isText: boolean) {
    this.#isText = isText;
  }

  /** Reads a part of it. Returns the position behind its last character before `end`. */
  read(bytes: Uint8Array, start: number, end: number): number {
    const isText = this.#isText;
    let isInString = this.#isInString;
    let digits = this.#digits;
    let pos = start;
    while (pos < end) {
      let character = bytes[pos] as number;
      if (isInString) {
        while (character !== json.QUOTE && character !== json.BACKSLASH && ++pos < end)
          character = bytes[pos] as number;
        if (pos >= end) break;
      }
      if (isText && character === json.BACKSLASH) {
        character = escapedCharacter(bytes, pos);
        pos = escapeEnd(bytes, pos, character);
      } else pos++;
      if (character === json.QUOTE) isInString = !isInString;
      else if (isInString && character === json.BACKSLASH) pos = isText ? characterEnd(bytes, pos, 1) : pos + 1;
      else if (!isInString && json.isDigit(character)) digits++;
      else if (!isInString) {
        this.#add(character, digits, bytes[pos]);
        digits = 0;
      }
    }
    this.#isInString = isInString;
    this.#digits = digits;
    return pos;
  }

  /** A character outside of strings, and not a digit, behind so many digits and before `next`. */
  #add(character: number, digits: number, next: number | undefined): void {
    switch (character) {
      case json.COMMA:
        this.tokens += this.#isText ? SPACE : indentation(this.#depth);
        break;
      case json.COLON:
        if (this.#isText) this.tokens += this.#depth === 1 ? TAGS : SPACE;
        break;
      case json.OPEN_OBJECT:
      case json.OPEN_ARRAY:
        this.#depth++;
        if (!this.#isText) this.tokens += indentation(this.#depth);
        break;
      case json.CLOSE_OBJECT:
      case json.CLOSE_ARRAY:
        if (!this.#isText) this.tokens += indentation(this.#depth);
        this.#depth--;
        break;
      case json.DOT:
        if (digits >= LONGEST_PLAIN) this.tokens += POWER;
        break;
      case json.LETTER_E:
      case UPPER_E:
        if (digits > 0) this.tokens += next === json.MINUS ? NEGATIVE_EXPONENT : EXPONENT;
        break;
    }
  }
}

/** The white space of a line. Up to a depth of 20 two tokens for each byte cover it (measured). */
function indentation(depth: number): number {
  return Math.max(0, (depth - 8) >> 2);
}

const UPPER_E = 0x45;
const SPACE = 1;
/** `<parameter=…>` and its end (Qwen), or a little longer, in place of quotes and colon. */
const TAGS = 10;
/** 1e15 becomes 1000000000000000.0 in Python, and 1e20 gets 21 digits in Go. */
const EXPONENT = 20;
/** 1e-6 becomes 0.000001 in Go. Smaller numbers keep their exponent, such as 1e-07. */
const NEGATIVE_EXPONENT = 5;
/** With more digits before its point a number gets a power: 1.2345678901234568e+16. */
const LONGEST_PLAIN = 17;
const POWER = 3;
