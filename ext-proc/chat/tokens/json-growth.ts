import * as json from '../json/json-bytes.ts';
import { characterEnd, escapedCharacter, escapeEnd } from '../json/json-text.ts';

/**
 * Chat templates parse JSON and serialize it again, mostly in a longer form. This bounds the tokens
 * that it gains, beyond those that the tally counts for its bytes. Arguments of calls, which are
 * JSON in a string, get spaces, and some templates write their members as tags. Definitions of
 * tools are indented. In both, numbers may become longer and characters in strings may be escaped.
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

  /** Reads the next part of the JSON. Returns the position after the last whole character. */
  read(bytes: Uint8Array, start: number, end: number): number {
    const isText = this.#isText;
    const inString = isText ? IN_STRINGS_OF_TEXT : IN_STRINGS;
    let isInString = this.#isInString;
    let digits = this.#digits;
    let grown = 0;
    let pos = start;
    while (pos < end) {
      let character = bytes[pos] as number;
      if (isInString) {
        while (character !== json.QUOTE && character !== json.BACKSLASH) {
          grown += inString[character] as number;
          if (++pos >= end) break;
          character = bytes[pos] as number;
        }
        if (pos >= end) break;
      }
      if (character === json.BACKSLASH && (isText || bytes[pos + 1] === json.LETTER_U)) {
        character = escapedCharacter(bytes, pos);
        pos = escapeEnd(bytes, pos, character);
        if (!isText) {
          grown += inString[firstByte(character)] as number;
          continue;
        }
      } else pos++;
      if (character === json.QUOTE) isInString = !isInString;
      else if (isInString && character === json.BACKSLASH) pos = isText ? characterEnd(bytes, pos, 1) : pos + 1;
      else if (isInString) grown += inString[firstByte(character)] as number;
      else if (OUTSIDE[character] === DIGIT) digits++;
      else {
        if (OUTSIDE[character] === GROWS) this.#add(character, digits, bytes[pos]);
        digits = 0;
      }
    }
    this.tokens += grown;
    this.#isInString = isInString;
    this.#digits = digits;
    return pos;
  }

  /** Adds what a character outside of strings gains. `digits`: how many stand just before it. */
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

/** Returns a byte with which UTF-8 begins characters of the same length. */
function firstByte(point: number): number {
  if (point < 0x80) return point;
  return point < 0x800 ? TWO_BYTES : point < 0x10000 ? THREE_BYTES : FOUR_BYTES;
}

/**
 * Tokens of a line's indentation. Down to a depth of 20 the tally's two tokens for each byte of a
 * tool cover it (measured); this begins at a depth of 12.
 */
function indentation(depth: number): number {
  return Math.max(0, (depth - 8) >> 2);
}

/**
 * What a character outside of strings does. A table, because a body may be full of white space and
 * words, and calling #add() for each would cost four times as much.
 */
const OUTSIDE = new Uint8Array(256);
const GROWS = 1;
const DIGIT = 2;
for (const character of ',:{}[].eE') OUTSIDE[character.charCodeAt(0)] = GROWS;
for (const digit of '0123456789') OUTSIDE[digit.charCodeAt(0)] = DIGIT;

const UPPER_E = 0x45;
const SPACE = 1;
/** Qwen writes a member as `<parameter=NAME>VALUE</parameter>`, other templates a little longer. */
const TAGS = 10;
/** 1e15 becomes 1000000000000000.0 in Python, and 1e20 gets 21 digits in Go. */
const EXPONENT = 20;
/** 1e-6 becomes 0.000001 in Go. Smaller numbers keep their exponent, such as 1e-07. */
const NEGATIVE_EXPONENT = 5;
/** With more digits before its point a number gets a power: 1.2345678901234568e+16. */
const LONGEST_PLAIN = 17;
const POWER = 3;

const TWO_BYTES = 0xc0;
const THREE_BYTES = 0xe0;
const FOUR_BYTES = 0xf0;

/**
 * Tokens that a character in a string gains as \uXXXX, by its first byte. `counted`: tokens that
 * the tally counts for a byte. Go and jinja2 escape four signs, some templates all letters outside
 * ASCII.
 */
function growthInStrings(counted: number): Uint8Array {
  const growth = new Uint8Array(256);
  for (const sign of `<>&'`) growth[sign.charCodeAt(0)] = ESCAPE - counted;
  growth.fill(ESCAPE - 2 * counted, TWO_BYTES, THREE_BYTES);
  growth.fill(Math.max(0, ESCAPE - 3 * counted), THREE_BYTES, FOUR_BYTES);
  growth.fill(2 * ESCAPE - 4 * counted, FOUR_BYTES);
  return growth;
}

/** Tokens of \uXXXX: some tokenizers make a token of each of its bytes. */
const ESCAPE = 6;
const IN_STRINGS_OF_TEXT = growthInStrings(1);
const IN_STRINGS = growthInStrings(2);
