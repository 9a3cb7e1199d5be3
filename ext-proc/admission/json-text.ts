import { BACKSLASH, hexQuad, LETTER_U } from './json-bytes.ts';

/**
 * The text of a string as UTF-8, without its escapes: `start` and `end` enclose what stands between the quotes. The text has been
 * scanned, so every escape is complete and every surrogate has its other half. The result is never longer than what it was made of.
 */
export function unescapeText(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const text = new Uint8Array(end - start);
  let length = 0;
  let pos = start;
  while (pos < end) {
    const byte = bytes[pos] as number;
    if (byte !== BACKSLASH) {
      text[length++] = byte;
      pos++;
    } else if (bytes[pos + 1] !== LETTER_U) {
      text[length++] = SHORT_ESCAPES[bytes[pos + 1] as number] as number;
      pos += 2;
    } else {
      const point = escapedCodePoint(bytes, pos);
      length = appendUtf8(text, length, point);
      pos += point > 0xffff ? 12 : 6;
    }
  }
  return text.subarray(0, length);
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

/** What the letter after a backslash stands for; 0 where there is no such escape. */
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
