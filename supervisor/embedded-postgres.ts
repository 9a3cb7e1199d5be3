import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimePaths } from '../core/config/runtime-paths.ts';
import { type Guard, startGuard } from './guard.ts';
import { accountCommand, choosePostgresAccount, handOver, postgresSocketDir } from './postgres-account.ts';
import { initialisePostgres, POSTGRES_MAJOR } from './postgres-init.ts';
import { findPostgresInstall } from './postgres-install.ts';
import { collectServerLog } from './postgres-log.ts';
import { serverArguments } from './postgres-settings.ts';
import { endAll, identityOf, isAlive, processesIn } from './process-identity.ts';
import { endProcess, exitOf, exitText, type Running, type StopStep } from './running.ts';

export interface EmbeddedPostgres extends Running {
  /** Of the database `gateway`. */
  readonly url: string;
  /** Of any database on this server; `postgres` is there for creating others. */
  urlFor(database: string): string;
}

export interface EmbeddedPostgresOptions {
  /** Ends the server when this process is killed. Without one the server brings its own. */
  readonly guard?: Guard;
  /** Further server settings, such as `fsync: off` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Warnings and errors of the server after its start. */
  readonly onLog?: (line: string) => void;
  /** Crash recovery is part of the start. */
  readonly startTimeoutMs?: number;
}

const START_TIMEOUT_MS = 120_000;
const STOP: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 10_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
];
const STOP_GRACE_SECONDS = 10;
const SOCKET = '.s.PGSQL.5432';

/**
 * The URL of the embedded server's database, also when another process runs that server. Port and TLS are said outright, because `pg`
 * would otherwise take them from PGPORT and PGSSLMODE.
 */
export function embeddedDatabaseUrl(paths: Pick<RuntimePaths, 'socketDir'>, database = 'gateway'): string {
  return `postgres://gateway@/${database}?host=${encodeURIComponent(paths.socketDir)}&port=5432&sslmode=disable`;
}

/** Starts PostgreSQL on `paths.postgresDir`, which is made first when it is missing. Rejects with a message for the operator. */
export async function startEmbeddedPostgres(
  paths: Pick<RuntimePaths, 'dataDir' | 'postgresDir' | 'socketDir'>,
  options: EmbeddedPostgresOptions = {},
): Promise<EmbeddedPostgres> {
  const install = findPostgresInstall();
  mkdirSync(paths.dataDir, { recursive: true, mode: 0o700 });
  mkdirSync(paths.socketDir, { recursive: true, mode: 0o700 });
  const account = await choosePostgresAccount({
    postgresDir: paths.postgresDir,
    socketDir: paths.socketDir,
    binary: install.postgres,
  });
  if (existsSync(join(paths.postgresDir, 'PG_VERSION'))) {
    refuseOtherMajor(paths.postgresDir);
    await endFormerServer(paths.postgresDir, postgresSocketDir(paths, account));
  } else {
    await initialisePostgres(paths.postgresDir, install, account);
  }
  const socketDir = postgresSocketDir(paths, account);
  handOver(account, [socketDir]);
  if (socketDir !== paths.socketDir) linkSocket(paths.socketDir, socketDir);

  const guard = options.guard ?? startGuard();
  const args = serverArguments({ ...paths, socketDir }, options.settings);
  const command = accountCommand(account, install.postgres, args);
  const child = spawn(command.file, command.args, {
    ...command.ids,
    cwd: paths.postgresDir,
    detached: true,
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = exitOf(child);
  const log = collectServerLog(child.stderr, options.onLog ?? (() => {}));
  const pid = child.pid;
  if (pid !== undefined) guard.watch(pid, 'INT', STOP_GRACE_SECONDS);
  void exited.then(() => {
    if (pid !== undefined) guard.forget(pid);
    if (options.guard === undefined) return guard.close();
  });

  const stop = async (): Promise<void> => {
    log.stopForwarding();
    await endProcess(child, exited, STOP);
  };
  const problem = await waitUntilReady(paths.postgresDir, exited, options.startTimeoutMs ?? START_TIMEOUT_MS);
  if (pid === undefined || problem !== undefined) {
    await stop();
    throw new Error(
      `PostgreSQL did not start: ${problem ?? 'the process could not be created'}.\n${log.tail()}`.trimEnd(),
    );
  }
  log.startForwarding();
  return {
    pid,
    exited,
    stop,
    url: embeddedDatabaseUrl(paths),
    urlFor: (database) => embeddedDatabaseUrl(paths, database),
  };
}

/** Secrets in our environment are none of PostgreSQL's business, and PG* variables would change what it does. */
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
 * After kill -9 of everything an old server, or backends without one, may still run on the folder, and its lock files may name a process
 * id that now belongs to somebody else (both keep a new server from starting). The caller holds the data folder's lock, so whatever still
 * runs there is a leftover.
 */
async function endFormerServer(postgresDir: string, socketDir: string): Promise<void> {
  const folder = realpathSync(postgresDir);
  const postmaster = Number.parseInt(readLines(join(folder, 'postmaster.pid'))[0] ?? '', 10);
  const leftovers = processesIn(folder, 'postgres');
  const former = leftovers.filter(({ pid }) => pid === postmaster);
  for (const { signal, waitMs } of STOP) if (await endAll(former, signal, waitMs)) break;
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) if (await endAll(leftovers, signal, 5_000)) break;
  if (Number.isInteger(postmaster) && isAlive(identityOf(postmaster)) && processesIn(folder, 'postgres').length > 0) {
    throw new Error(`Another PostgreSQL (process ${postmaster}) runs on ${folder} and does not end.`);
  }
  rmSync(join(folder, 'postmaster.pid'), { force: true });
  rmSync(join(socketDir, `${SOCKET}.lock`), { force: true });
}

/** So that every client finds the socket where the others are, wherever the server makes it. */
function linkSocket(from: string, to: string): void {
  for (const name of [SOCKET, `${SOCKET}.lock`]) rmSync(join(from, name), { force: true });
  symlinkSync(join(to, SOCKET), join(from, SOCKET));
}

/** As pg_ctl does it: the server writes its state into the eighth line of postmaster.pid. */
async function waitUntilReady(
  postgresDir: string,
  exited: Running['exited'],
  timeoutMs: number,
): Promise<string | undefined> {
  const deadline = performance.now() + timeoutMs;
  let ended: string | undefined;
  void exited.then((exit) => {
    ended = `it ended with ${exitText(exit)}`;
  });
  while (ended === undefined) {
    if (readLines(join(postgresDir, 'postmaster.pid'))[7]?.trim() === 'ready') return undefined;
    if (performance.now() > deadline) return `it was not ready after ${timeoutMs} ms`;
    await sleep(10);
  }
  return ended;
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
