import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Process ids are reused, in containers within seconds, so that a stored id alone proves nothing. With its start time it does.
 * Where there is no /proc the id has to do.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, as the kernel writes it; `-` where that cannot be known. */
  readonly started: string;
}

const UNKNOWN_START = '-';

export function identityOf(pid: number): ProcessIdentity {
  return { pid, started: stat(pid)?.started ?? UNKNOWN_START };
}

/** A zombie counts as gone: it holds no file, port or memory. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  const now = stat(pid);
  if (now === undefined) return started === UNKNOWN_START && answersSignal(pid);
  return now.state !== 'Z' && (started === UNKNOWN_START || started === now.started);
}

/** Processes called `name` whose working folder is `folder`: a database server and each of its backends stay in the database's. */
export function processesIn(folder: string, name: string): ProcessIdentity[] {
  const found: ProcessIdentity[] = [];
  for (const entry of readProcessList()) {
    const pid = Number(entry);
    if (Number.isInteger(pid) && workingFolder(pid) === folder && stat(pid)?.name === name) found.push(identityOf(pid));
  }
  return found;
}

/** Signals those that still live, and waits; true when all are gone. */
export async function endAll(
  all: readonly ProcessIdentity[],
  signal: NodeJS.Signals,
  waitMs: number,
): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  for (const one of all) if (isAlive(one)) signalProcess(one.pid, signal);
  while (all.some(isAlive)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

function stat(pid: number): { name: string; state: string; started: string } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the name in parentheses and may itself contain spaces and parentheses; state is field 3, start time field 22.
  const end = text.lastIndexOf(')');
  const name = text.slice(text.indexOf('(') + 1, end);
  const fields = text.slice(end + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state === undefined || started === undefined ? undefined : { name, state, started };
}

function readProcessList(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function answersSignal(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not ours to signal, but there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in between; the caller looks again.
  }
}
