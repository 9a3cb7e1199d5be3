import type { FileHandle } from 'node:fs/promises';
import { encodeRevocation } from './spool-line.ts';

export type AppendableFile = Pick<FileHandle, 'appendFile' | 'datasync' | 'truncate' | 'stat' | 'read' | 'close'>;

/**
 * Appends lines that last, and leaves nothing to replay of those that it refused. One call at a
 * time.
 */
export interface AppendedFile {
  /**
   * Resolves after the fsync with the place of the line. Rejects when the disk does not take it:
   * then it is cut off again, or revoked by a line after it; and nothing more is taken before that
   * has succeeded.
   */
  append(line: string, generationId: string): Promise<{ readonly position: number; readonly bytes: number }>;
  /** Resolves when the disk takes and keeps something; nothing of it stays. */
  prove(): Promise<void>;
  empty(): Promise<void>;
}

export function createAppendedFile(file: AppendableFile): AppendedFile {
  /**
   * A charge that was reported lost and may still be on the disk behind `size`: it must not be
   * replayed.
   */
  let refused: { readonly size: number; readonly generationId: string } | undefined;

  async function append(line: string, generationId: string): Promise<{ position: number; bytes: number }> {
    await mend();
    const { size } = await file.stat();
    // A line that a crash cut short must not swallow the next one: each begins on a line of its
    // own.
    const bytes = Buffer.from(`\n${line}\n`);
    try {
      await file.appendFile(bytes);
      await file.datasync();
    } catch (error) {
      refused = { size, generationId };
      // A disk that takes nothing at all is asked again before the next line, and by `prove`.
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
