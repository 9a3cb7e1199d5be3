import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A pid with its start time. Pids are reused, in containers within seconds, so a stored pid alone
 * identifies nothing. Without /proc only the pid is known.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time in clock ticks since boot. `-` if unknown. */
  readonly started: string;
}

const UNKNOWN_START = '-';

export function identityOf(pid: number): ProcessIdentity {
  return { pid, started: stat(pid)?.started ?? UNKNOWN_START };
}

/** A zombie counts as dead: it holds no file, port or memory. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  const now = stat(pid);
  if (now === undefined) return started === UNKNOWN_START && answersSignal(pid);
  return now.state !== 'Z' && (started === UNKNOWN_START || started === now.started);
}

/** Signals the processes that are alive and waits. Returns true when all have ended. */
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
  // Field 2 is the name in parentheses, which may contain spaces and parentheses. Field 3 is the
  // state, field 22 the start time.
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
    // The process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended since the check. The caller checks again.
  }
}
