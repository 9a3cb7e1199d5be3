import { type ChildProcess, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '#core/within.ts';

/** A serving child process, with what restarts and drains need. */
export interface Running {
  readonly pid: number;
  /** Resolves when the process has ended, for any reason. */
  readonly exited: Promise<Exit>;
  /** Sends its signals, then SIGKILL. Resolves when the process has ended. May be repeated. */
  stop(): Promise<void>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the supervisor sent the signal, if it did so by itself. */
  readonly because?: string;
}

/** A signal to send, and the time to wait for the exit. SIGKILL follows the last step. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

/** An unprivileged user as which root runs a child. */
export interface ChildUser {
  readonly uid: number;
  /** True if the user reaches its own folder, even inside a closed one such as /root. */
  readonly searchesAll: boolean;
}

/**
 * Command line for a foreign program that must not outlive this process: when this process is gone,
 * even by kill -9, the kernel sends it `signal`. `setpriv` (util-linux) requests that from the
 * kernel, switches to `user` if there is one, and then executes the program, which keeps the
 * child's process id. Our own programs do not need this, because they end when their IPC channel
 * closes.
 */
export function endingWithUs(
  signal: 'KILL' | 'INT',
  file: string,
  args: readonly string[],
  user?: ChildUser,
): { file: string; args: string[] } {
  // Other platforms have no such feature. docs/operating.md lists the platforms.
  if (process.platform !== 'linux') return { file, args: [...args] };
  return { file: 'setpriv', args: ['--pdeathsig', signal, ...userArguments(user), '--', file, ...args] };
}

/** The reason why `endingWithUs` cannot work on this machine, as a message for the operator. */
export function findSetprivProblem(): string | undefined {
  const { file, args } = endingWithUs('KILL', 'true', []);
  if (spawnSync(file, args).status === 0) return undefined;
  return 'setpriv of util-linux 2.33 or newer is needed (Debian: apt-get install util-linux): it ends Envoy and PostgreSQL with this process.';
}

function userArguments(user: ChildUser | undefined): string[] {
  if (user === undefined) return [];
  const capabilities = user.searchesAll ? '+dac_read_search' : '-all';
  // With this bit access(2), with which PostgreSQL looks for its own programs, also respects the
  // capability.
  const bits = user.searchesAll ? ['--securebits', '+no_setuid_fixup'] : [];
  return [
    ...['--reuid', String(user.uid), '--regid', String(user.uid), '--clear-groups'],
    ...['--inh-caps', capabilities, '--ambient-caps', capabilities],
    ...bits,
  ];
}

export function exitText(exit: Exit): string {
  if (exit.signal === null) return `exit code ${exit.code}`;
  return exit.because === undefined ? `signal ${exit.signal}` : `signal ${exit.signal}, because ${exit.because}`;
}

/** Polls a child that has just started until it is ready. Otherwise returns the reason. */
export async function whyNotReady(
  isReady: () => boolean | Promise<boolean>,
  exited: Promise<Exit>,
  { withinMs, pollMs, signal }: { withinMs: number; pollMs: number; signal?: AbortSignal },
): Promise<string | undefined> {
  const deadline = performance.now() + withinMs;
  let exit: Exit | undefined;
  void exited.then((value) => {
    exit = value;
  });
  while (exit === undefined) {
    if (signal?.aborted) return 'it was stopped';
    if (await isReady()) return undefined;
    if (performance.now() > deadline) return `it was not ready after ${withinMs} ms`;
    await sleep(pollMs);
  }
  return `it ended with ${exitText(exit)}`;
}

/** Must be called synchronously after `spawn`, so that no exit is missed. */
export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    // A child that could not be started emits no exit event.
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
