import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { identityOf, isAlive } from './process-identity.ts';

/** Linux mounts a file system in memory here. A container often gives it 64 MiB. */
const MEMORY = '/dev/shm';
const NAME = /^gw-tests-(\d+)-(\d+)$/;
/** The databases of a run need up to 3 GiB. */
const ENOUGH_BYTES = 6 * 1024 ** 3;
/** As the temporary folder: a PostgreSQL under root runs as another user. */
const EVERYBODY = 0o1777;

/**
 * Makes a temporary folder in memory, where this machine has room. It is removed when this process
 * ends, and after a kill by the next run. Contract tests on a disk took a third more CPU, and the
 * removal of their 150 databases up to 100 s.
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
