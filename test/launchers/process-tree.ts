import { readdirSync, readFileSync } from 'node:fs';

/** A process and its children, such as a PostgreSQL server with its backends. */
export function withChildren(parent: number): number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
  return [parent, ...children];
}

/** Sends a signal to processes, some of which may have ended. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    // Signalling pid 0 would signal the process group of this process.
    if (pid === 0) continue;
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
