import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/** A file that one process at a time may have. */
export interface FileLock {
  release(): void;
}

/** `flock` ends with it when another process has the lock. */
const TAKEN = 1;

/**
 * Locks the file, which is made where it is missing and should never be removed. `undefined`: another process still had it after `waitSeconds`
 * (0: it is tried once). Throws where the file system knows no locks, or `flock` (util-linux) is missing.
 *
 * The kernel keeps the lock with the open file and drops it with the process, however that ends: so it is never stale, knows no process ids,
 * and holds between containers that share a volume. Node has no call for it, but such a lock belongs to the open file and not to the process
 * that asked for it: `flock` is given our descriptor, takes the lock, and ends.
 */
export async function lockFile(path: string, waitSeconds: number): Promise<FileLock | undefined> {
  // A number, not a FileHandle, which Node would close when nobody remembers the lock any more.
  const descriptor = openSync(path, 'a', 0o600);
  let taken = false;
  try {
    taken = await flock(descriptor, waitSeconds);
  } catch (error) {
    throw new Error(`${path} cannot be locked: ${(error as Error).message}`, { cause: error });
  } finally {
    if (!taken) closeSync(descriptor);
  }
  return taken ? { release: () => closeSync(descriptor) } : undefined;
}

async function flock(descriptor: number, waitSeconds: number): Promise<boolean> {
  const wait = waitSeconds === 0 ? ['--nonblock'] : ['--timeout', String(waitSeconds)];
  const child = spawn('flock', ['--exclusive', ...wait, '3'], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'ignore', 'pipe', descriptor],
  });
  const [said, [status]] = await Promise.all([
    child.stderr ? text(child.stderr) : '',
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (status !== 0 && status !== TAKEN) throw new Error(said.trim() || `flock ended with status ${status}`);
  return status === 0;
}
