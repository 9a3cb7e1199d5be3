import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endingWithUs } from '#supervisor/children/child-process.ts';
import { serverEnvironment } from '#supervisor/postgres/embedded-postgres.ts';
import { choosePostgresUser, handOver } from '#supervisor/postgres/postgres-user.ts';

/**
 * A PostgreSQL server from the machine's packages: the embedded one has no pg_dump, whose version
 * must be at least the server's.
 */
export interface InstalledPostgres {
  readonly socketDir: string;
  /**
   * Runs one of its tools against the server, such as `pg_dump --format=custom`. Rejects if the
   * tool fails.
   */
  tool(name: 'pg_dump' | 'pg_restore' | 'createdb', ...args: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

const INSTALLED = '/usr/lib/postgresql';
const TOOL_MS = 60_000;

function newestFolder(): string | undefined {
  const majors = existsSync(INSTALLED) ? readdirSync(INSTALLED).map(Number).filter(Number.isInteger) : [];
  const complete = majors
    .map((major) => join(INSTALLED, String(major), 'bin'))
    .filter((bin) => existsSync(join(bin, 'postgres')));
  return complete.sort().at(-1);
}

/** Why no such server can run. `undefined` if one can. */
export function missingInstalledPostgres(): string | undefined {
  return newestFolder() === undefined ? `PostgreSQL in ${INSTALLED} (Debian: apt-get install postgresql)` : undefined;
}

export async function startInstalledPostgres(): Promise<InstalledPostgres> {
  const bin = newestFolder();
  if (bin === undefined) throw new Error(missingInstalledPostgres());
  const folder = mkdtempSync(join(tmpdir(), 'gw-installed-pg-'));
  const [postgresDir, socketDir] = [join(folder, 'data'), join(folder, 'run')];
  for (const path of [postgresDir, socketDir]) mkdirSync(path, { mode: 0o700 });
  const user = await choosePostgresUser({ postgresDir, socketDir, binary: join(bin, 'postgres') });
  handOver(user, [postgresDir, socketDir]);
  const commandOf = (name: string, args: readonly string[]) => {
    const { file, args: all } = endingWithUs('KILL', join(bin, name), args, user);
    return { file, all, options: { cwd: '/', env: serverEnvironment() } };
  };
  const initdb = commandOf('initdb', [
    '-D',
    postgresDir,
    '-U',
    'gateway',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
  ]);
  execFileSync(initdb.file, initdb.all, { ...initdb.options, stdio: 'pipe', timeout: TOOL_MS });
  const settings = [
    '-D',
    postgresDir,
    '-c',
    `unix_socket_directories=${socketDir}`,
    '-c',
    'listen_addresses=',
    '-c',
    'fsync=off',
  ];
  const server = commandOf('postgres', settings);
  const child = spawn(server.file, server.all, { ...server.options, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const to = ['--host', socketDir, '--username', 'gateway'];
  await untilAnswering(join(bin, 'pg_isready'), to);
  return {
    socketDir,
    tool: async (name, ...args) => {
      await promisify(execFile)(join(bin, name), [...to, ...args], { timeout: TOOL_MS });
    },
    stop: async () => {
      child.kill('SIGQUIT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilAnswering(isReady: string, to: readonly string[]): Promise<void> {
  const deadline = performance.now() + TOOL_MS;
  for (;;) {
    const answers = await promisify(execFile)(isReady, to).then(
      () => true,
      () => false,
    );
    if (answers) return;
    if (performance.now() > deadline) throw new Error('PostgreSQL did not start');
    await sleep(100);
  }
}
