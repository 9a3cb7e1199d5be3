import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * The marks of the processes that kept the limits with this volume, in one file for each process
 * index, as spool and journal have.
 */
export interface OwnMarks {
  /**
   * Left in PostgreSQL by processes whose spool and journal are on this volume; the newest may not
   * have arrived there.
   */
  readonly marks: readonly string[];
  /** The newest of them did not have to wait for an owner elsewhere, or has waited. */
  readonly hasWaited: boolean;
}

const NONE: OwnMarks = { marks: [], hasWaited: false };

/**
 * A missing or damaged file has no mark: the process then waits, which is safe. So the file is not
 * flushed to the disk either.
 */
export async function readOwnMarks(path: string): Promise<OwnMarks> {
  try {
    const { marks, hasWaited } = JSON.parse(await readFile(path, 'utf8')) as Partial<OwnMarks>;
    return Array.isArray(marks) ? { marks, hasWaited: hasWaited === true } : NONE;
  } catch {
    return NONE;
  }
}

/** Replaces the file whole. Rejects when it cannot be written. */
export async function writeOwnMarks(path: string, own: OwnMarks): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.new`, JSON.stringify(own), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
