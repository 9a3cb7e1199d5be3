import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { identityOf, isAlive } from './process-identity.ts';

/** Where Linux mounts a file system in memory. In containers it often has only 64 MiB. */
const MEMORY = '/dev/shm';
const NAME = /^gw-tests-(\d+)-(\d+)$/;
/** The databases of a run need up to 3 GiB. */
const ENOUGH_BYTES = 6 * 1024 ** 3;
/** The mode of the temporary folder: when tests run as root, PostgreSQL runs as another user. */
const EVERYBODY = 0o1777;

/**
 * Creates a temporary folder in memory if there is room. It is removed when this process ends, or
 * by the next run if this process is killed. On a disk, contract tests took a third more CPU, and
 * removing their 150 databases took up to 100 s.
 */
export function makeMemoryFolder(): string | undefined {
  if (!hasRoom()) return undefined;
  removeLeftovers();
  const { pid, started } = identityOf(process.pid);
  const folder = join(MEMORY, `gw-tests-${pid}-${started}`);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, EVERYBODY);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) >= ENOUGH_BYTES;
  } catch {
    return false;
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const [, pid, started] = NAME.exec(name) ?? [];
    if (started === undefined || isAlive({ pid: Number(pid), started })) continue;
    rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}
