import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { keepOutput, type LaunchedProcess } from './launched-process.ts';

/** A child process under test. Its output is kept, and shown only when a test fails. */
export interface TestProcess extends LaunchedProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<number | NodeJS.Signals>;
}

/** How long to wait for the end of the output: a surviving grandchild may hold it open. */
const OUTPUT_END_MS = 5_000;

export function startProcess(command: string, args: readonly string[], options: SpawnOptions): TestProcess {
  const child = spawn(command, [...args], options);
  const { keep, text } = keepOutput();
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    // The last output may arrive after the exit.
    child.once('exit', (code, signal) => {
      const exit = signal ?? code ?? -1;
      const timer = setTimeout(resolve, OUTPUT_END_MS, exit);
      child.once('close', () => {
        clearTimeout(timer);
        resolve(exit);
      });
    });
    child.once('error', (error) => {
      keep(Buffer.from(`${error.message}\n`));
      resolve(-1);
    });
  });
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    child,
    command: child.spawnargs.join(' '),
    pid: child.pid ?? 0,
    output: text,
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

/** Waits for an IPC message of a type. Rejects with the output if the process ends first. */
export async function ipcMessage<Message extends object>(
  process: TestProcess,
  type: string,
  timeoutMs = PATIENCE_MS,
): Promise<Message> {
  const signal = AbortSignal.timeout(timeoutMs);
  const ended = process.exited.then((exit) => {
    throw new Error(`ended with ${exit} instead of sending '${type}':\n${process.output()}`);
  });
  ended.catch(() => {});
  for (;;) {
    const [message] = (await Promise.race([once(process.child, 'message', { signal }), ended])) as [
      Message & { type?: string },
    ];
    if (message.type === type) return message;
  }
}
