import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endingWithUs } from '#supervisor/children/child-process.ts';
import { sql } from '../harness/database.ts';
import { freePorts } from '../launchers/free-ports.ts';

/** PgBouncer between a test and the test run's PostgreSQL, on a loopback port. */
export interface PgBouncer {
  /** URL of the same database through PgBouncer. */
  urlOf(url: string): string;
  stop(): Promise<void>;
}

const START_MS = 30_000;
const NOBODY = 65_534;

/** Debian installs it outside of the path of ordinary users. */
const PATH = `${process.env.PATH}:/usr/sbin`;

export const missingPgBouncer: string | undefined =
  spawnSync('pgbouncer', ['--version'], { env: { PATH } }).status === 0
    ? undefined
    : 'pgbouncer (Debian: apt-get install pgbouncer)';

export async function startPgBouncer(mode: 'transaction' | 'session', socketDir: string): Promise<PgBouncer> {
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'gw-pgbouncer-'));
  const ini = join(folder, 'pgbouncer.ini');
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    // Clients send this setting when they connect, and PgBouncer does not support it.
    ignore_startup_parameters: 'extra_float_digits',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  // If it runs as another user, this is a link to that user's socket.
  const sockets = dirname(realpathSync(join(socketDir, '.s.PGSQL.5432')));
  writeFileSync(ini, `[databases]\n* = host=${sockets} user=gateway\n\n[pgbouncer]\n${lines.join('\n')}\n`);
  // PgBouncer refuses to run as root, as PostgreSQL does, and has to reach its socket.
  // The socket folder of a container belongs to root.
  const uid = statSync(sockets).uid || NOBODY;
  const user = process.getuid?.() === 0 ? { uid, searchesAll: true } : undefined;
  for (const path of [folder, ini]) chownSync(path, uid, uid);
  const { file, args } = endingWithUs('KILL', 'pgbouncer', ['--quiet', ini], user);
  const child = spawn(file, args, { cwd: folder, env: { PATH }, stdio: 'ignore' });
  const bouncer = { urlOf: (url: string) => throughPort(url, port), stop: () => end(child, folder) };
  const deadline = performance.now() + START_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
    const answers = await sql(`postgres://gateway@127.0.0.1:${port}/postgres`, 'select 1').then(
      () => true,
      () => false,
    );
    if (answers) return bouncer;
    if (performance.now() > deadline) throw new Error('pgbouncer did not start');
    await sleep(50);
  }
}

function throughPort(url: string, port: number): string {
  const name = /@[^/]*\/(\w+)/.exec(url)?.[1];
  return `postgres://gateway@127.0.0.1:${port}/${name}`;
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  rmSync(folder, { recursive: true, force: true });
}
