import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Cuts the last line, as a crash does. */
export function tearLastLine(folder: string): void {
  const last = readdirSync(folder)
    .filter((name) => name.startsWith('log-'))
    .toSorted((a, b) => segmentNumber(a) - segmentNumber(b))
    .at(-1);
  if (last) appendFileSync(join(folder, last), '00000000S"gen-cut');
}

function segmentNumber(name: string): number {
  return Number(name.split('.')[1]);
}
