import { crc32 } from 'node:zlib';

export interface CheckedLine {
  /** Content without checksum and line feed. */
  readonly text: Buffer;
  /** Offset of the line in its file, and its size without the line feed. */
  readonly position: number;
  readonly bytes: number;
}

const CHECK_DIGITS = 8;
const LINE_FEED = 10;

/** Encodes a line: its CRC-32 as eight hexadecimal digits, then the text without line feeds. */
export function checkedLine(text: string): string {
  return `${digitsOf(text)}${text}\n`;
}

/**
 * Reads the lines of a file in order. Lines end at line feeds alone, because the text of a client
 * may contain every other line separator. `onDamage` is called for each damaged line, which is
 * skipped, but not for a last line that a crash cut short.
 */
export function eachLine(file: Buffer, onLine: (line: CheckedLine) => void, onDamage: (line: Buffer) => void): void {
  for (let position = 0; position < file.length; ) {
    const end = file.indexOf(LINE_FEED, position);
    const line = file.subarray(position, end === -1 ? file.length : end);
    const text = checkedText(line);
    if (text !== undefined) onLine({ text, position, bytes: line.length });
    else if (line.length > 0 && end !== -1) onDamage(line);
    position += line.length + 1;
  }
}

/** Content of a line without its line feed. `undefined`: damaged. */
export function checkedText(line: Buffer): Buffer | undefined {
  const text = line.subarray(CHECK_DIGITS);
  return text.length > 0 && digitsOf(text) === line.toString('latin1', 0, CHECK_DIGITS) ? text : undefined;
}

function digitsOf(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(CHECK_DIGITS, '0');
}
