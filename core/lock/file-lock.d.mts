/** A file that one process at a time has. */
export interface FileLock {
  release(): void;
}

/**
 * Locks the file, which is created if it is missing and should never be removed. `undefined`: another process still had
 * the lock after `waitSeconds` (0: one attempt). Rejects if the file system has no locks, or if neither `flock` of
 * util-linux nor Perl is installed.
 */
export function lockFile(path: string, waitSeconds: number): Promise<FileLock | undefined>;

/** True if a process has the lock of the file. Changes nothing; a missing file is not locked. */
export function isLocked(path: string): Promise<boolean>;
