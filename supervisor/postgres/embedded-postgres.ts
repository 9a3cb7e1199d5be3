import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { embeddedDatabaseUrl, type RuntimePaths } from '#core/config/runtime-paths.ts';
import {
  endingWithUs,
  endProcess,
  exitOf,
  type Running,
  type StopStep,
  whyNotReady,
} from '../children/child-process.ts';
import { findPostgresInstall, initialisePostgres, POSTGRES_MAJOR } from './initialise.ts';
import { choosePostgresUser, handOverDatabase, postgresSocketDir } from './postgres-user.ts';
import { serverArguments } from './server-settings.ts';

export interface EmbeddedPostgres extends Running {
  /** URL of the database `gateway`. */
  readonly url: string;
  /** URL of any database on this server. `postgres` exists, so that others can be created. */
  urlFor(database: string): string;
}

export interface EmbeddedPostgresOptions {
  /** Further server settings, such as `fsync: off` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called with warnings and errors of the server after its start. */
  readonly onLog?: (line: string) => void;
  /** The start includes crash recovery. */
  readonly startTimeoutMs?: number;
}

const START_TIMEOUT_MS = 120_000;
const POLL_MS = 10;
const STOP: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 10_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
];
const SOCKET = '.s.PGSQL.5432';

/** Starts PostgreSQL on `paths.postgresDir`, created if missing. Rejects with a message. */
export async function startEmbeddedPostgres(
  paths: Pick<RuntimePaths, 'dataDir' | 'postgresDir' | 'socketDir'>,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const install = findPostgresInstall();
  mkdirSync(paths.dataDir, { recursive: true, mode: 0o700 });
  mkdirSync(paths.socketDir, { recursive: true, mode: 0o700 });
  const user = await choosePostgresUser({ ...paths, binary: install.postgres });
  const socketDir = postgresSocketDir(paths, user);
  if (existsSync(join(paths.postgresDir, 'PG_VERSION'))) {
    refuseOtherMajor(paths.postgresDir);
    handOverDatabase(user, paths.postgresDir);
    await endFormerServer(paths.postgresDir, socketDir);
  } else {
    await initialisePostgres(paths.postgresDir, install, user);
  }
  if (socketDir !== paths.socketDir) linkSocket(paths.socketDir, socketDir);

  const args = serverArguments({ ...paths, socketDir }, options.settings);
  const command = endingWithUs('INT', install.postgres, args, user);
  const child = spawn(command.file, command.args, {
    cwd: paths.postgresDir,
    detached: true,
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = exitOf(child);
  const log = collectServerLog(child.stderr, options.onLog ?? (() => {}));
  const pid = child.pid;

  const stop = async (): Promise<void> => {
    log.stopForwarding();
    await endProcess(child, exited, STOP);
  };
  const withinMs = options.startTimeoutMs ?? START_TIMEOUT_MS;
  const problem = await whyNotReady(() => isReady(paths.postgresDir), exited, { withinMs, pollMs: POLL_MS });
  if (pid === undefined || problem !== undefined) {
    await stop();
    throw new Error(
      `PostgreSQL did not start: ${problem ?? 'the process could not be created'}.\n${log.tail()}`.trimEnd(),
    );
  }
  return {
    pid,
    exited,
    stop,
    url: embeddedDatabaseUrl(paths),
    urlFor: (database) => embeddedDatabaseUrl(paths, database),
  };
}

/** Excludes our secrets, and PG* variables, which would change PostgreSQL's behaviour. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

function refuseOtherMajor(postgresDir: string): void {
  const found = readFileSync(join(postgresDir, 'PG_VERSION'), 'utf8').trim();
  if (found === POSTGRES_MAJOR) return;
  throw new Error(
    `The database in ${postgresDir} was made by PostgreSQL ${found}, this release brings ${POSTGRES_MAJOR}: dump it with the old release, or set GATEWAY_DATA to another folder.`,
  );
}

/**
 * After a kill -9 a server may still be ending, or backends may run without one. Its lock files may
 * name a process id that another process has now, which would prevent a new server from starting.
 * The caller has the lock on the data folder, so every server in it is a former one.
 */
async function endFormerServer(postgresDir: string, socketDir: string): Promise<void> {
  // Without /proc other processes cannot be found. PostgreSQL has its own checks.
  if (!existsSync('/proc/self')) return;
  const folder = realpathSync(postgresDir);
  for (const { signal, waitMs } of [...STOP, { signal: 'SIGKILL', waitMs: 5_000 } as const]) {
    if (await endAll(folder, signal, waitMs)) break;
  }
  const [left] = serverProcesses(folder);
  if (left !== undefined) throw new Error(`Another PostgreSQL (process ${left}) runs on ${folder} and does not end.`);
  rmSync(join(folder, 'postmaster.pid'), { force: true });
  rmSync(join(socketDir, `${SOCKET}.lock`), { force: true });
}

/** True if all have ended within `waitMs`. */
async function endAll(folder: string, signal: NodeJS.Signals, waitMs: number): Promise<boolean> {
  for (const pid of serverProcesses(folder)) signalIfThere(pid, signal);
  const deadline = performance.now() + waitMs;
  while (serverProcesses(folder).length > 0) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has ended meanwhile. The caller looks again.
  }
}

/** Finds a server and its backends, whose working directory is the database folder. */
function serverProcesses(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readlinkSync(`/proc/${pid}/cwd`) === folder && readFileSync(`/proc/${pid}/comm`, 'utf8') === 'postgres\n'
        );
      } catch {
        // The process has ended, or it is another user's and works elsewhere.
        return false;
      }
    });
}

/** Links the socket into the folder of the gateway's sockets, where clients look for it. */
function linkSocket(from: string, to: string): void {
  for (const name of [SOCKET, `${SOCKET}.lock`]) rmSync(join(from, name), { force: true });
  symlinkSync(join(to, SOCKET), join(from, SOCKET));
}

/** Uses the same method as pg_ctl: the server writes its state into line 8 of postmaster.pid. */
function isReady(postgresDir: string): boolean {
  try {
    return readFileSync(join(postgresDir, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

const TAIL_LINES = 20;
const WORTH_FORWARDING = /^(WARNING|ERROR|FATAL|PANIC|LOG):/;
/** The last line of a start. Clients are served only after it. */
const READY = /^LOG:\s+database system is ready to accept connections$/;

/**
 * Reads the server's log to its end. Lines of start and stop are shown only if these fail. The
 * lines themselves mark the end of the start, because they may be read after the server's state.
 */
function collectServerLog(stream: Readable, forward: (line: string) => void) {
  const last: string[] = [];
  let isReady = false;
  let isStopping = false;
  createInterface({ input: stream }).on('line', (line) => {
    last.push(line);
    if (last.length > TAIL_LINES) last.shift();
    if (READY.test(line)) isReady = true;
    else if (isReady && !isStopping && WORTH_FORWARDING.test(line)) forward(line);
  });
  return {
    /** The last lines, for the message if the server does not start. */
    tail: () => last.join('\n'),
    stopForwarding: () => {
      isStopping = true;
    },
  };
}
