import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file system of its own, in memory, that a test can fill. Under the temporary folder, where
 * containers see it too.
 */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves this much room and no more. */
  fill(freeBytes: number): void;
  /** Takes away what filled it. */
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
        // Somebody else took some of it meanwhile: it is full.
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

/** Why there can be no such disk here; `undefined` when there can. */
export function missingSmallDisk(): string | undefined {
  try {
    mountSmallDisk(1024 * 1024).remove();
    return undefined;
  } catch {
    return 'the right to mount a tmpfs (root)';
  }
}
