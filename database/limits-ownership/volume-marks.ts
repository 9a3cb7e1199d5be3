import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Marks of processes with limits in memory, in a file beside each worker's charge log. */
export interface VolumeMarks {
  /** Marks that these processes wrote to PostgreSQL. The newest may not have been written there. */
  readonly marks: readonly string[];
  /** True if the newest process had no other owner to wait for, or has waited. */
  readonly hasWaited: boolean;
}

const NONE: VolumeMarks = { marks: [], hasWaited: false };

/** A missing or damaged file counts as empty: the process waits, so the file needs no fsync. */
export async function readVolumeMarks(path: string): Promise<VolumeMarks> {
  try {
    const { marks, hasWaited } = JSON.parse(await readFile(path, 'utf8')) as Partial<VolumeMarks>;
    return Array.isArray(marks) ? { marks, hasWaited: hasWaited === true } : NONE;
  } catch {
    return NONE;
  }
}

/** Replaces the whole file. Rejects if it cannot be written. */
export async function writeVolumeMarks(path: string, own: VolumeMarks): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(`${path}.new`, JSON.stringify(own), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
