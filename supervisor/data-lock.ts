import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { identityOf, isAlive, type ProcessIdentity } from './process-identity.ts';

/** One supervisor per data folder. The lock is a file that names its owner; that of a dead owner counts for nothing. */
export interface DataLock {
  release(): void;
}

export interface LockedBy {
  readonly lockedBy: ProcessIdentity;
}

const ATTEMPTS = 10;

export function takeDataLock(path: string): DataLock | LockedBy {
  const draft = `${path}.${process.pid}`;
  const own = identityOf(process.pid);
  writeFileSync(draft, `${own.pid} ${own.started}\n`, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (link(draft, path)) return { release: () => releaseOwn(path, own) };
      const owner = readOwner(path);
      if (owner !== undefined && isAlive(owner)) return { lockedBy: owner };
      discardDead(path, draft);
    }
    throw new Error(`The lock ${path} could neither be taken nor read.`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A link appears with its content, and fails when the name exists: no moment in which another process could see half of it. */
function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Two may find the same dead owner; whoever moved away the lock that the other had just taken puts it back. */
function discardDead(path: string, draft: string): void {
  const aside = `${draft}.dead`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const moved = readOwner(aside);
  if (moved !== undefined && isAlive(moved)) link(aside, path);
  rmSync(aside, { force: true });
}

function releaseOwn(path: string, own: ProcessIdentity): void {
  if (readOwner(path)?.pid === own.pid) rmSync(path, { force: true });
}

function readOwner(path: string): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const match = /^(\d+) (\S+)\n$/.exec(text);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { pid: Number(match[1]), started: match[2] };
}
