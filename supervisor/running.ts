import type { ChildProcess } from 'node:child_process';

/** A child process that is up, in the one shape that restarting, draining and guarding work with. */
export interface Running {
  readonly pid: number;
  /** Resolves when the process is gone, however that came about. */
  readonly exited: Promise<Exit>;
  /** Ends it politely first, then by force. Resolves when it is gone; calling it again changes nothing. */
  stop(): Promise<void>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What to send, and how long to wait for the exit before the next step. After the last step comes SIGKILL. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

export function exitText(exit: Exit): string {
  return exit.signal === null ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

/** Must be called in the same turn as `spawn`, or the exit could be missed. */
export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A child that never came to be has no exit event.
    child.once('error', () => {
      if (child.pid === undefined) resolve({ code: 127, signal: null });
    });
  });
}

export async function endProcess(
  child: ChildProcess,
  exited: Promise<Exit>,
  steps: readonly StopStep[],
): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (hasEnded(child)) break;
    child.kill(signal);
    if (await within(exited, waitMs)) return;
  }
  if (!hasEnded(child)) child.kill('SIGKILL');
  await exited;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Whether the promise settled in time. Leaves no timer behind. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([promise.then(() => true as const), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
