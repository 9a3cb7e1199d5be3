import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const PIECE_BYTES = 8 * 1024 * 1024;

/** Prefix of every text that is searched for, so that most of the memory is scanned only once. */
export const MARK = 'sentinel-';

/**
 * Which of the texts are in the memory of a process, in UTF-8 or UTF-16. Searches every readable
 * mapping except compiled code and unchanged files. Throws without permission to read the memory.
 */
export function findInMemory(pid: number, texts: readonly string[]): string[] {
  const forms = texts.map(formsOf);
  const marks = formsOf(MARK);
  const longest = Math.max(...forms.flat().map(({ length }) => length));
  const found = new Set<string>();
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const [start, end] of readableMappings(pid)) {
      for (let at = start; at < end; at += PIECE_BYTES) {
        const bytes = readPiece(memory, at, Math.min(PIECE_BYTES + longest, end - at));
        if (!marks.some((mark) => bytes.includes(mark))) continue;
        texts.forEach((text, index) => {
          if (forms[index]?.some((form) => bytes.includes(form))) found.add(text);
        });
      }
    }
  } finally {
    closeSync(memory);
  }
  return texts.filter((text) => found.has(text));
}

function formsOf(text: string): readonly Buffer[] {
  return [Buffer.from(text), Buffer.from(text, 'utf16le')];
}

function readableMappings(pid: number): [number, number][] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .flatMap((line): [number, number][] => {
      const [, start = '', end = ''] =
        /^([\da-f]+)-([\da-f]+) (?:rw-\S+|r.-\S+ \S+ \S+ 0) (?!.*\[v(?:var|dso|syscall))/.exec(line) ?? [];
      return start === '' ? [] : [[Number.parseInt(start, 16), Number.parseInt(end, 16)]];
    });
}

/** The piece is shorter, or empty, where pages are guarded or have been unmapped. */
function readPiece(memory: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  try {
    while (filled < length) {
      const count = readSync(memory, bytes, filled, length - filled, at + filled);
      if (count === 0) break;
      filled += count;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EIO' && code !== 'EFAULT') throw error;
  }
  return bytes.subarray(0, filled);
}
