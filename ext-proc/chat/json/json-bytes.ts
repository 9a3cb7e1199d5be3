/** Bytes of JSON's grammar. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const SPACE = 0x20;
export const MINUS = 0x2d;
export const PLUS = 0x2b;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const LETTER_E = 0x65;
export const LETTER_U = 0x75;

/** The byte at `pos`. Behind the end it is 0, which is never valid JSON. */
export function byteAt(bytes: Uint8Array, pos: number): number {
  return pos < bytes.length ? (bytes[pos] as number) : 0;
}

/** The first position from `pos` on that is not white space, or `end`. */
export function skipSpace(bytes: Uint8Array, pos: number, end = bytes.length): number {
  let at = pos;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
    at++;
  }
  return at;
}

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

/** The value of four hexadecimal digits from `pos` on. Negative if one is not such a digit. */
export function hexQuad(bytes: Uint8Array, pos: number): number {
  if (pos + 4 > bytes.length) return -1;
  return (
    ((HEX_DIGITS[bytes[pos] as number] as number) << 12) |
    ((HEX_DIGITS[bytes[pos + 1] as number] as number) << 8) |
    ((HEX_DIGITS[bytes[pos + 2] as number] as number) << 4) |
    (HEX_DIGITS[bytes[pos + 3] as number] as number)
  );
}

const HEX_DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX_DIGITS[digit.charCodeAt(0)] = value;
  HEX_DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}
