import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export type TextFileResult = { readonly ok: true; readonly text: string } | UnreadFile;
export type BytesResult = { readonly ok: true; readonly bytes: Buffer } | UnreadFile;

export interface UnreadFile {
  readonly ok: false;
  /** Contains no content of the file. */
  readonly reason: string;
  /** True if this user may not read the file. */
  readonly forbidden?: true;
}

export const NOT_UTF8: UnreadFile = { ok: false, reason: 'it is not UTF-8 text' };
const PIECE_BYTES = 65_536;

/** Reads a whole small UTF-8 file. */
export async function readTextFile(path: string, maxBytes: number): Promise<TextFileResult> {
  const file = await readBytes(path, maxBytes);
  if (!file.ok) return file;
  try {
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(file.bytes) };
  } catch {
    return NOT_UTF8;
  }
}

/** Reads a whole small file. No other copy of the bytes remains, so the caller can erase them. */
export async function readBytes(path: string, maxBytes: number): Promise<BytesResult> {
  try {
    const bytes = await readBounded(path, maxBytes);
    return typeof bytes === 'string' ? { ok: false, reason: bytes } : { ok: true, bytes };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const forbidden = code === 'EACCES' || code === 'EPERM';
    return { ok: false, reason: REASONS[code] ?? code, ...(forbidden ? { forbidden } : {}) };
  }
}

async function readBounded(path: string, maxBytes: number): Promise<Buffer | string> {
  // Opening a FIFO without O_NONBLOCK would wait for a writer, possibly for ever.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const status = await file.stat();
  if (!status.isFile()) return 'it is not a regular file';
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, maxBytes + 1 - length));
    const { bytesRead } = await file.read(piece);
    if (bytesRead === 0) {
      const bytes = Buffer.concat(pieces);
      for (const each of pieces) each.fill(0);
      return bytes;
    }
    pieces.push(piece.subarray(0, bytesRead));
    length += bytesRead;
    if (length > maxBytes) return `it is larger than ${maxBytes} bytes`;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
};
