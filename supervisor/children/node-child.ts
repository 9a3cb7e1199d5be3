import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, exitOf, exitText, type Running } from './child-process.ts';
import { type StartFailure, startFailure } from './supervised-process.ts';

/**
 * `EX_CONFIG` of sysexits: the process refused its configuration or arguments and has printed the
 * reason.
 */
const CONFIGURATION_EXIT_CODE = 78;

/**
 * A signal would open a port through which every user of the machine could read the process's
 * secrets.
 */
const NO_DEBUGGER = '--disable-sigusr1';

export interface NodeChildOptions {
  readonly name: string;
  readonly script: string;
  readonly args?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly startTimeoutMs: number;
  /** Time from SIGTERM to SIGKILL. */
  readonly stopTimeoutMs: number;
  /** Discards its standard output. */
  readonly quiet?: boolean;
}

/**
 * Starts one of our own programs. It sends `{type: 'listening'}` over its IPC channel when it
 * serves, and ends when the channel closes because this process is gone.
 */
export async function startNodeChild(options: NodeChildOptions, signal: AbortSignal): Promise<Running | StartFailure> {
  if (signal.aborted) return startFailure(`${options.name} was not started`);
  const child = spawn(process.execPath, [NO_DEBUGGER, options.script, ...(options.args ?? [])], {
    // A session of its own: Ctrl-C in the terminal is for the supervisor alone, which then drains
    // in order.
    detached: true,
    env: options.env,
    stdio: ['ignore', options.quiet ? 'ignore' : 'inherit', 'inherit', 'ipc'],
  });
  const exited = exitOf(child);
  const pid = child.pid;
  if (pid === undefined) return startFailure(`${options.name} could not be started`);

  const stop = (): Promise<void> => endProcess(child, exited, [{ signal: 'SIGTERM', waitMs: options.stopTimeoutMs }]);
  const settled = new AbortController();
  const listening = new Promise<'listening'>((resolve) => {
    child.on('message', (message) => {
      if (typeof message === 'object' && 'type' in message && message.type === 'listening') resolve('listening');
    });
  });
  const late = sleep(options.startTimeoutMs, 'late' as const, { signal: settled.signal }).catch(() => 'late' as const);
  const aborted = new Promise<'aborted'>((resolve) => {
    signal.addEventListener('abort', () => resolve('aborted'), { signal: settled.signal });
  });
  const outcome = await Promise.race([listening, exited, late, aborted]);
  settled.abort();
  if (outcome === 'listening') return { pid, exited, stop };
  if (outcome === 'late' || outcome === 'aborted') {
    await stop();
    return startFailure(
      outcome === 'late'
        ? `${options.name} was not ready after ${options.startTimeoutMs} ms`
        : `${options.name} was stopped`,
    );
  }
  return startFailure(
    `${options.name} ended with ${exitText(outcome)} before it was ready`,
    outcome.code === CONFIGURATION_EXIT_CODE,
  );
}
