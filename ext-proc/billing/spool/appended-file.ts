import type { FileHandle } from 'node:fs/promises';
import { encodeRevocation } from './spool-line.ts';

export type AppendableFile = Pick<FileHandle, 'appendFile' | 'datasync' | 'truncate' | 'stat' | 'read' | 'close'>;

/** Appends lines durably. A line that was refused is never replayed. One call at a time. */
export interface AppendedFile {
  /**
   * Appends a line, and resolves after the fsync with its place. Rejects if the disk does not take
   * it; then the line is cut off or revoked before the next one is written.
   */
  append(line: string, generationId: string): Promise<{ readonly position: number; readonly bytes: number }>;
  /** Resolves if the disk takes a test line, which is removed again. */
  prove(): Promise<void>;
  empty(): Promise<void>;
}

export function createAppendedFile(file: AppendableFile): AppendedFile {
  /**
   * Charge that was reported as lost and may still be in the file behind `size`: it must not be
   * replayed.
   */
  let refused: { readonly size: number; readonly generationId: string } | undefined;

  async function append(line: string, generationId: string): Promise<{ position: number; bytes: number }> {
    await mend();
    const { size } = await file.stat();
    // The leading line end separates it from a line that a crash cut short.
    const bytes = Buffer.from(`\n${line}\n`);
    try {
      await file.appendFile(bytes);
      await file.datasync();
    } catch (error) {
      refused = { size, generationId };
      // If this fails too, it is retried before the next line and by `prove`.
      await mend().catch(() => undefined);
      throw error;
    }
    return { position: size + 1, bytes: bytes.length - 2 };
  }

  async function mend(): Promise<void> {
    if (refused === undefined) return;
    try {
      await file.truncate(refused.size);
      await file.datasync();
    } catch {
      await file.appendFile(`\n${encodeRevocation(refused.generationId)}\n`);
      await file.datasync();
    }
    refused = undefined;
  }

  return {
    append,
    async prove() {
      await mend();
      const { size } = await file.stat();
      await append('', '');
      await file.truncate(size);
    },
    async empty() {
      await file.truncate(0);
      await file.datasync();
      refused = undefined;
    },
  };
}
