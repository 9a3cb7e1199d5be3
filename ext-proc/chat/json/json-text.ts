import { BACKSLASH, hexQuad, LETTER_U } from './json-bytes.ts';

/**
 * Decodes the escapes of a string to UTF-8. `start` and `end` are the positions inside the quotes.
 * The text has been scanned, so every escape is complete and every surrogate has its other half.
 * The result is never longer than the input.
 */
export function unescapeText(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const text = new Uint8Array(end - start);
  return text.subarray(0, unescapeInto(text, 0, bytes, start, end));
}

/** As unescapeText(), into `text` from `at` on. Returns the end of the written bytes. */
export function unescapeInto(text: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  let length = at;
  let pos = start;
  while (pos < end) {
    const byte = bytes[pos] as number;
    if (byte !== BACKSLASH) {
      text[length++] = byte;
      pos++;
      continue;
    }
    const point = escapedCharacter(bytes, pos);
    if (point < 0x80) text[length++] = point;
    else length = appendUtf8(text, length, point);
    pos = escapeEnd(bytes, pos, point);
  }
  return length;
}

/** Most bytes in which a character (UTF-16 unit) can be written. */
const LONGEST_BYTES = 6;

/** The text of a string, cut to this many characters (UTF-16 units). */
export function textUpTo(characters: number, bytes: Buffer, start: number, end: number): string {
  const wanted = Math.min(end, start + LONGEST_BYTES * characters);
  const hasEscapes = bytes.subarray(start, wanted).includes(BACKSLASH);
  const text = hasEscapes ? Buffer.from(unescapeText(bytes, start, wanted)) : bytes.subarray(start, wanted);
  return text.toString().slice(0, characters);
}

const ASCII = 0x7f;

/** Position behind this many ASCII characters of a string. */
export function characterEnd(bytes: Uint8Array, start: number, characters: number): number {
  let pos = start;
  for (let i = 0; i < characters; i++) pos = bytes[pos] === BACKSLASH ? escapeEnd(bytes, pos, ASCII) : pos + 1;
  return pos;
}

/** The code point that the escape at `pos`, or the pair of them, stands for. */
export function escapedCharacter(bytes: Uint8Array, pos: number): number {
  const letter = bytes[pos + 1] as number;
  return letter === LETTER_U ? escapedCodePoint(bytes, pos) : (SHORT_ESCAPES[letter] as number);
}

/** Position behind the escape of `point` at `pos`, which is a pair above U+FFFF. */
export function escapeEnd(bytes: Uint8Array, pos: number, point: number): number {
  if (bytes[pos + 1] !== LETTER_U) return pos + 2;
  return point > 0xffff ? pos + 12 : pos + 6;
}

/** The code point that the `\u` escape at `pos`, or the pair of them, stands for. */
export function escapedCodePoint(bytes: Uint8Array, pos: number): number {
  const unit = hexQuad(bytes, pos + 2);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  return 0x10000 + ((unit & 0x3ff) << 10) + (hexQuad(bytes, pos + 8) & 0x3ff);
}

function appendUtf8(text: Uint8Array, at: number, point: number): number {
  let length = at;
  if (point < 0x80) {
    text[length++] = point;
    return length;
  }
  if (point < 0x800) {
    text[length++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      text[length++] = 0xe0 | (point >> 12);
    } else {
      text[length++] = 0xf0 | (point >> 18);
      text[length++] = 0x80 | ((point >> 12) & 0x3f);
    }
    text[length++] = 0x80 | ((point >> 6) & 0x3f);
  }
  text[length++] = 0x80 | (point & 0x3f);
  return length;
}

/** Character of the letter after a backslash; 0 if there is no such escape. */
export const SHORT_ESCAPES = new Uint8Array(256);
for (const [letter, text] of Object.entries({
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
})) {
  SHORT_ESCAPES[letter.charCodeAt(0)] = text.charCodeAt(0);
}
