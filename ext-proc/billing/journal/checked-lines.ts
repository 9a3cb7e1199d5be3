import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { crc32 } from 'node:zlib';

/**
 * Encodes a line with a checksum: eight hexadecimal digits of CRC-32, then the text, which has no
 * line end.
 */
export function checkedLine(text: string): string {
  return `${crc32(text).toString(16).padStart(8, '0')}${text}\n`;
}

const CHECK_DIGITS = 8;

/**
 * Reads lines one at a time; none of a missing file. `onDamage`: a damaged line was skipped, such
 * as one that a crash cut short.
 */
export async function* readCheckedLines(path: string, onDamage: () => void = () => undefined): AsyncGenerator<string> {
  const file = createReadStream(path, 'utf8');
  try {
    for await (const line of createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (line === '') continue;
      const text = line.slice(CHECK_DIGITS);
      if (checkedLine(text) === `${line}\n`) yield text;
      else onDamage();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    file.destroy();
  }
}
