import { crc32 } from 'node:zlib';
import { linesOf } from '../spool/spool-lines.ts';

/**
 * Encodes a line with a checksum: eight hexadecimal digits of CRC-32, then the text, which has no
 * line feed.
 */
export function checkedLine(text: string): string {
  return `${crc32(text).toString(16).padStart(8, '0')}${text}\n`;
}

const CHECK_DIGITS = 8;

/**
 * Reads lines one at a time; none of a missing file. Lines end at line feeds alone, because the
 * text of a client may have every other character that ends a line elsewhere. `onDamage`: this line
 * was skipped. It is not called for a last line that a crash cut short.
 */
export async function* readCheckedLines(path: string, onDamage: (line: Buffer) => void): AsyncGenerator<string> {
  try {
    for await (const { content, ended } of linesOf(path)) {
      const line = content.toString('utf8');
      const text = line.slice(CHECK_DIGITS);
      if (checkedLine(text) === `${line}\n`) yield text;
      else if (ended) onDamage(content);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
