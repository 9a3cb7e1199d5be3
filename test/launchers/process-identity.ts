import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Process ids are reused, in containers within seconds, so that a stored id alone proves nothing.
 * With its start time it does. Where there is no /proc the id has to do.
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

function stat(pid: number): { state: string; started: string } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the name in parentheses and may itself contain spaces and parentheses;
  // state is field 3, start time field 22.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state === undefined || started === undefined ? undefined : { state, started };
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
    // Ended in between; the caller looks again.
  }
}
