import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file system in memory that a test can fill. It is under the temporary folder, where containers
 * see it too.
 */
export interface SmallDisk {
  readonly folder: string;
  /** Fills the disk except for this much. */
  fill(freeBytes: number): void;
  /** Removes what `fill` wrote. */
  empty(): void;
  remove(): void;
}

export function mountSmallDisk(sizeBytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'gw-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes},mode=0755`, 'tmpfs', folder], { stdio: 'pipe' });
  const ballast = join(folder, 'ballast');
  const empty = (): void => rmSync(ballast, { force: true });
  return {
    folder,
    fill(freeBytes) {
      empty();
      const { bavail, bsize } = statfsSync(folder);
      try {
        writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - freeBytes)));
      } catch (error) {
        // Another process has used some of the space, so the disk is full already.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    empty,
    remove() {
      execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' });
      rmSync(folder, { recursive: true });
    },
  };
}

/** Why no such disk can be mounted. `undefined` if one can. */
export function missingSmallDisk(): string | undefined {
  try {
    mountSmallDisk(1024 * 1024).remove();
    return undefined;
  } catch {
    return 'the right to mount a tmpfs (root)';
  }
}
