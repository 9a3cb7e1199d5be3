import { BACKSLASH } from '../json/json-bytes.ts';
import { escapedCharacter, escapeEnd } from '../json/json-text.ts';

/**
 * Checks the base64 data in a string piece by piece: standard alphabet, with or without padding,
 * and no white space. PHP writes every slash as `\/`.
 */
export class Base64Text {
  #characters = 0;
  #padding = 0;
  #isBroken = false;

  /** Returns the position behind the last character that begins before `end`. */
  read(bytes: Buffer, start: number, end: number): number {
    let pos = start;
    while (pos < end) {
      let characters = 0;
      for (; pos < end; characters++) {
        const byte = bytes[pos] as number;
        if (ALPHABET[byte] === 1) pos++;
        else if (byte === BACKSLASH && bytes[pos + 1] === SLASH) pos += 2;
        else break;
      }
      this.#addCharacters(characters);
      if (pos < end) pos = this.#readOther(bytes, pos);
    }
    return pos;
  }

  get isWhole(): boolean {
    const rest = this.#characters % 4;
    if (this.#isBroken || this.#characters === 0 || rest === 1 || this.#padding > 2) return false;
    return this.#padding === 0 || rest + this.#padding === 4;
  }

  #readOther(bytes: Buffer, pos: number): number {
    const isEscape = bytes[pos] === BACKSLASH;
    const character = isEscape ? escapedCharacter(bytes, pos) : (bytes[pos] as number);
    if (character === PADDING) this.#padding++;
    else if (ALPHABET[character] === 1) this.#addCharacters(1);
    else this.#isBroken = true;
    return isEscape ? escapeEnd(bytes, pos, character) : pos + 1;
  }

  #addCharacters(count: number): void {
    if (count > 0 && this.#padding > 0) this.#isBroken = true;
    this.#characters += count;
  }
}

const SLASH = 0x2f;
const PADDING = 0x3d;

const ALPHABET = new Uint8Array(256);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
  ALPHABET[character.charCodeAt(0)] = 1;
