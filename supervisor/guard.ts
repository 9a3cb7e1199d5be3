import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { identityOf } from './process-identity.ts';
import { exitOf, within } from './running.ts';

/** Ends what it watches when this process dies without doing so itself (kill -9): see guard.sh. */
export interface Guard {
  /** `signal` without SIG. After `graceSeconds` comes SIGKILL. */
  watch(pid: number, signal: 'TERM' | 'INT', graceSeconds: number): void;
  forget(pid: number): void;
  close(): Promise<void>;
  /** Process id of the shell that watches now. */
  pid(): number | undefined;
}

const SCRIPT = fileURLToPath(new URL('guard.sh', import.meta.url));
/** A guard that was killed is replaced at once, but a shell that cannot run must not be started in a tight loop. */
const RESPAWN_DELAY_MS = 50;
const CLOSE_WAIT_MS = 2_000;

/** `recordPath`: also write down what is watched, for a later start after this process and the guard were both killed. */
export function startGuard(recordPath?: string): Guard {
  const watched = new Map<number, string>();
  let closed = false;
  let shell = begin();

  function record(): void {
    if (recordPath !== undefined) writeFileSync(recordPath, [...watched.values()].join(''), { mode: 0o600 });
  }

  function begin(): ChildProcess {
    // A session of its own: Ctrl-C in the terminal must not reach it.
    const child = spawn('/bin/sh', [SCRIPT], {
      detached: true,
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env.PATH },
    });
    child.stdin?.on('error', ignoreBrokenPipe);
    child.unref();
    void exitOf(child).then(() => {
      if (closed) return;
      setTimeout(() => {
        if (!closed) shell = begin();
      }, RESPAWN_DELAY_MS).unref();
    });
    for (const line of watched.values()) child.stdin?.write(line);
    return child;
  }

  return {
    watch(pid, signal, graceSeconds) {
      const line = `watch ${pid} ${identityOf(pid).started} ${signal} ${graceSeconds}\n`;
      watched.set(pid, line);
      record();
      shell.stdin?.write(line);
    },
    forget(pid) {
      if (!watched.delete(pid)) return;
      record();
      shell.stdin?.write(`forget ${pid}\n`);
    },
    async close() {
      closed = true;
      const exited = exitOf(shell);
      if (shell.exitCode !== null || shell.signalCode !== null || shell.pid === undefined) return;
      shell.stdin?.end();
      if (!(await within(exited, CLOSE_WAIT_MS))) shell.kill('SIGKILL');
    },
    pid: () => shell.pid,
  };
}

/** The shell was killed; its exit is handled where it is replaced. */
function ignoreBrokenPipe(): void {}
