import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_CONFIGURATION } from '#core/process-end.ts';
import { type Exit, endProcess, exitOf, exitText, type Running } from './child-process.ts';
import { type StartFailure, startFailure } from './supervised-process.ts';

/** Otherwise SIGUSR1 opens a debugger port, where any user could read the process's secrets. */
const NO_DEBUGGER = '--disable-sigusr1';

/**
 * Options for a program that computes little. Its threads share one malloc arena, and its young
 * generation stays small. That saves 13 MB in the supervisor (docs/performance.md, "Memory"), which
 * `npm start` and the systemd unit start with the same options.
 */
export const FRUGAL = { nodeOptions: ['--max-semi-space-size=1'], env: { MALLOC_ARENA_MAX: '1' } } as const;

/** Longer than any pause of a process that works, even of garbage collection in a big heap. */
const MOST_SILENT_S = 30;

export interface NodeProgram {
  readonly script: string;
  readonly args?: readonly string[];
  readonly nodeOptions?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Discards the program's standard output. */
  readonly quiet?: boolean;
}

export interface NodeChildOptions extends NodeProgram {
  readonly name: string;
  readonly startTimeoutMs: number;
  /** Time from SIGTERM to SIGKILL. */
  readonly stopTimeoutMs: number;
  readonly onMessage?: (message: object) => void;
}

export interface NodeChild extends Running {
  /** Hands a connection over to the process. If that is impossible, closes the connection. */
  pass(socket: Socket): void;
}

/** Spawns one of our own programs, with an IPC channel. */
export function spawnNode({ nodeOptions = [], script, args = [], env, quiet }: NodeProgram): ChildProcess {
  return spawn(process.execPath, [NO_DEBUGGER, ...nodeOptions, script, ...args], {
    // Starts a new session, so that Ctrl-C in the terminal reaches only the supervisor, which then
    // drains in order.
    detached: true,
    env,
    stdio: ['ignore', quiet ? 'ignore' : 'inherit', 'inherit', 'ipc'],
  });
}

/**
 * Starts one of our own programs. It sends `{type: 'listening'}` over its IPC channel once it
 * serves and then every second, and ends when the channel closes because this process is gone.
 */
export async function startNodeChild(
  options: NodeChildOptions,
  signal: AbortSignal,
): Promise<NodeChild | StartFailure> {
  if (signal.aborted) return startFailure(`${options.name} was not started`);
  const child = spawnNode(options);
  const exited = exitOf(child);
  const pid = child.pid;
  if (pid === undefined) return startFailure(`${options.name} could not be started`);

  const stop = (): Promise<void> => endProcess(child, exited, [{ signal: 'SIGTERM', waitMs: options.stopTimeoutMs }]);
  const settled = new AbortController();
  const listening = new Promise<'listening'>((resolve) => {
    child.on('message', (message) => {
      if (typeof message !== 'object') return;
      if ('type' in message && message.type === 'listening') resolve('listening');
      options.onMessage?.(message);
    });
  });
  const late = sleep(options.startTimeoutMs, 'late' as const, { signal: settled.signal }).catch(() => 'late' as const);
  const aborted = new Promise<'aborted'>((resolve) => {
    signal.addEventListener('abort', () => resolve('aborted'), { signal: settled.signal });
  });
  const outcome = await Promise.race([listening, exited, late, aborted]);
  settled.abort();
  // If the process dies, Node forgets the sockets that it has not acknowledged, without closing
  // them.
  const onTheirWay = new Set<Socket>();
  void exited.then(() => {
    for (const socket of onTheirWay) socket.destroy();
  });
  const pass = (socket: Socket): void => {
    onTheirWay.add(socket);
    socket.once('close', () => onTheirWay.delete(socket));
    // After sending, the socket is open in the other process, or closed by the kernel if that dies.
    child.send({ type: 'connection' }, socket, { keepOpen: true }, () => socket.destroy());
  };
  if (outcome === 'listening') return { pid, exited: killIfSilent(child, exited), stop, pass };
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
    outcome.code === EXIT_CONFIGURATION,
  );
}

/**
 * Kills a process whose event loop hangs, so that it is started again. Counts seconds in which this
 * process runs: while the whole machine or container is suspended, nobody can send anything.
 */
function killIfSilent(child: ChildProcess, exited: Promise<Exit>): Promise<Exit> {
  let silentS = 0;
  child.on('message', () => {
    silentS = 0;
  });
  const looking = setInterval(() => {
    silentS += 1;
    if (silentS > MOST_SILENT_S) child.kill('SIGKILL');
  }, 1_000);
  return exited.then((exit) => {
    clearInterval(looking);
    return silentS > MOST_SILENT_S ? { ...exit, because: `it had sent nothing for ${MOST_SILENT_S} s` } : exit;
  });
}
