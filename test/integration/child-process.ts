import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/** A process under test: what it writes is kept and shown only when a test fails. */
export interface TestProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Everything written to standard output and error so far, at most the last 8 MiB. */
  output(): string;
  hasEnded(): boolean;
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Sends the signal and waits for the end; after `graceMs` it is killed. */
  end(signal?: NodeJS.Signals, graceMs?: number): Promise<void>;
}

const KEPT_BYTES = 8 * 1024 * 1024;

export function startProcess(command: string, args: readonly string[], options: SpawnOptions): TestProcess {
  const child = spawn(command, [...args], options);
  const pieces: Buffer[] = [];
  let size = 0;
  const keep = (piece: Buffer): void => {
    pieces.push(piece);
    size += piece.length;
    while (size > KEPT_BYTES) size -= pieces.shift()?.length ?? 0;
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code ?? -1));
    child.once('error', (error) => {
      keep(Buffer.from(`${error.message}\n`));
      resolve(-1);
    });
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    child,
    pid: child.pid ?? 0,
    output: () => Buffer.concat(pieces).toString(),
    hasEnded,
    exited,
    end: async (signal = 'SIGTERM', graceMs = 5000) => {
      if (hasEnded()) return;
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      child.kill(signal);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Waits for an IPC message of that type. Rejects with the output when the process ends first. */
export async function ipcMessage(process: TestProcess, type: string, timeoutMs = 20_000): Promise<void> {
  const signal = AbortSignal.timeout(timeoutMs);
  const ended = process.exited.then((exit) => {
    throw new Error(`ended with ${exit} instead of sending '${type}':\n${process.output()}`);
  });
  ended.catch(() => {});
  for (;;) {
    const [message] = (await Promise.race([once(process.child, 'message', { signal }), ended])) as [{ type?: string }];
    if (message.type === type) return;
  }
}
