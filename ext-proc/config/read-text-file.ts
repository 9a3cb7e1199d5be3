import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export type TextFileResult =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

const PIECE_BYTES = 65_536;

/** Reads a whole small UTF-8 file. The reason of a failure holds nothing of its content. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFileResult> {
  try {
    const bytes = await readBounded(path, maxBytes);
    if (typeof bytes === 'string') return { ok: false, reason: bytes };
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return { ok: false, reason: error instanceof TypeError ? 'it is not UTF-8 text' : reasonOf(error) };
  }
}

async function readBounded(path: string, maxBytes: number): Promise<Buffer | string> {
  // Opening a FIFO without O_NONBLOCK would wait for its writer, without end.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const status = await file.stat();
  if (!status.isFile()) return 'it is not a regular file';
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, maxBytes + 1 - length));
    const { bytesRead } = await file.read(piece);
    if (bytesRead === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) return `it is larger than ${maxBytes} bytes`;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return REASONS[code] ?? code;
}
