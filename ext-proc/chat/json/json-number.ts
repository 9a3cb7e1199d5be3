import { byteAt, DOT, isDigit, LETTER_E, MINUS, PLUS, ZERO } from './json-bytes.ts';

/** Python reads integers of up to 4,300 digits, and no double needs as many. */
export const MAX_NUMBER_BYTES = 4096;

/** Results of `numberEnd`. `NOT_A_NUMBER` less a position: the number is broken there. */
export const TOO_LARGE = -1;
export const TOO_LONG = -2;
export const NOT_A_NUMBER = -3;

/** The position behind the number at `start`, or one of the results above. */
export function numberEnd(bytes: Buffer, start: number): number {
  const firstDigit = bytes[start] === MINUS ? start + 1 : start;
  let pos = digitsEnd(bytes, firstDigit);
  const integerDigits = pos - firstDigit;
  if (integerDigits > MAX_NUMBER_BYTES) return TOO_LONG;
  if (integerDigits === 0) return NOT_A_NUMBER - pos;
  if (integerDigits > 1 && bytes[firstDigit] === ZERO) return NOT_A_NUMBER - (firstDigit + 1);
  if (byteAt(bytes, pos) === DOT) {
    const firstDecimal = pos + 1;
    pos = digitsEnd(bytes, firstDecimal);
    if (pos === firstDecimal) return NOT_A_NUMBER - pos;
    if (pos - start > MAX_NUMBER_BYTES) return TOO_LONG;
  }
  let exponentDigits = 0;
  if ((byteAt(bytes, pos) | 0x20) === LETTER_E) {
    const sign = byteAt(bytes, pos + 1);
    const first = sign === MINUS || sign === PLUS ? pos + 2 : pos + 1;
    pos = digitsEnd(bytes, first);
    exponentDigits = pos - first;
    if (exponentDigits === 0) return NOT_A_NUMBER - pos;
  }
  if (pos - start > MAX_NUMBER_BYTES) return TOO_LONG;
  // The conversion costs 100 ns, and 2 us for 300 digits.
  const mayOverflow = exponentDigits > 2 || integerDigits > (exponentDigits === 0 ? 308 : 200);
  return mayOverflow && !Number.isFinite(Number(bytes.toString('latin1', start, pos))) ? TOO_LARGE : pos;
}

/** The position behind the digits, or behind so many that the number is too long. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  const end = Math.min(bytes.length, start + MAX_NUMBER_BYTES + 1);
  let pos = start;
  while (pos < end && isDigit(bytes[pos] as number)) pos++;
  return pos;
}
