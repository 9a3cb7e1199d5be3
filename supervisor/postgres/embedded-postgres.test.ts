import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { endingWithUs } from '../children/child-process.ts';
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from './embedded-postgres.ts';
import { handOver } from './postgres-user.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw pg, '));
const paths = runtimePaths({ GATEWAY_DATA: join(folder, 'data') });
const running: EmbeddedPostgres[] = [];

const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;
/** A user that every machine has: initdb needs one with a name. */
const SOMEBODY = 1;

beforeAll(async () => {
  // The remains of a crash in the middle of an earlier initialization.
  mkdirSync(join(paths.dataDir, 'postgres.new-1', 'base'), { recursive: true });
  const server = await start(paths);
  await query(server.url, 'CREATE TABLE kept (word text)', "INSERT INTO kept VALUES ('yes')");
  await server.stop();
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(where: RuntimePaths, options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres(where, options);
  running.push(server);
  return server;
}

async function query(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {
    // The server is killed on purpose.
  });
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

test('forwards problems from the log, and no routine lines', async () => {
  const lines: string[] = [];
  const server = await start(paths, { onLog: (line) => lines.push(line) });
  await query(server.url, "INSERT INTO kept VALUES ('more')", 'CHECKPOINT');
  await expect(query(server.url, 'SELECT nothing')).rejects.toThrow();
  await expect.poll(() => lines).not.toEqual([]);
  expect(lines).toEqual([expect.stringMatching(/^ERROR: .*"nothing" does not exist/)]);
});

test('initialization leaves one complete folder, closed to others', () => {
  const sockets = IS_ROOT ? ['run', 'run-postgres'] : ['run'];
  expect(readdirSync(paths.dataDir).sort()).toEqual(['postgres', ...sockets]);
  expect(statSync(paths.postgresDir).mode & 0o777).toBe(0o700);
  expect(statSync(paths.socketDir).mode & 0o777).toBe(0o700);
});

test('data survives restarts; checksums, durability and encoding are on; no network address is open', async () => {
  const server = await start(paths);
  const [row] = await query(
    server.url,
    `SELECT word, current_setting('data_checksums') AS checksums, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS
     commit, current_setting('server_encoding') AS encoding, current_setting('listen_addresses') AS addresses FROM kept`,
  );
  expect(row).toEqual({ word: 'yes', checksums: 'on', fsync: 'on', commit: 'on', encoding: 'UTF8', addresses: '' });
});

test('creates databases next to the gateway’s own', async () => {
  const server = await start(paths, { settings: { fsync: 'off' } });
  await query(server.urlFor('postgres'), 'CREATE DATABASE other');
  expect(await query(server.urlFor('other'), 'SELECT current_database() AS name')).toEqual([{ name: 'other' }]);
});

test('after a kill -9 of the server it starts again, with everything that was committed', async () => {
  const first = await start(paths);
  await query(first.url, "INSERT INTO kept VALUES ('committed')");
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
  const second = await start(paths);
  expect(await query(second.url, "SELECT count(*)::int AS found FROM kept WHERE word = 'committed'")).toEqual([
    { found: 1 },
  ]);
});

test('a failed start reports the server’s message, and leaves no process', async () => {
  await expect(start(paths, { settings: { shared_buffers: 'nonsense' } })).rejects.toThrow(
    /PostgreSQL did not start: it ended with exit code 1\.\n.*invalid value for parameter "shared_buffers"/,
  );
  expect(existsSync(join(paths.postgresDir, 'postmaster.pid'))).toBe(false);
});

test('refuses a folder of another major version, and leaves it unchanged', async () => {
  const version = join(paths.postgresDir, 'PG_VERSION');
  const before = readFileSync(version, 'utf8');
  writeFileSync(version, '17\n');
  await expect(start(paths)).rejects.toThrow('was made by PostgreSQL 17, this release brings 18');
  writeFileSync(version, before);
});

test.skipIf(!IS_ROOT)('under root it runs as nobody, even on a copied database that belongs to root', async () => {
  execFileSync('chown', ['-R', '0:0', paths.postgresDir]);
  const server = await start(paths);
  expect(statSync(`/proc/${server.pid}`).uid).toBe(NOBODY);
  expect(await query(server.url, 'SELECT DISTINCT word FROM kept')).toContainEqual({ word: 'yes' });
});

test.skipIf(!IS_ROOT)('under root nobody reaches programs in a closed folder, as in a clone below /root', () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  copyFileSync('/bin/true', join(closed, 'program'));
  const args = ['-c', 'import os, sys; sys.exit(0 if os.access(sys.argv[1], os.X_OK) else 1)', join(closed, 'program')];
  // access(2) is what initdb asks by.
  const { file, args: all } = endingWithUs('KILL', 'python3', args, { uid: NOBODY, searchesAll: true });
  expect(spawnSync(file, all).status).toBe(0);
});

test.skipIf(!IS_ROOT)('under root uses the empty folder of an ordinary user', async () => {
  const prepared = runtimePaths({ GATEWAY_DATA: join(folder, 'prepared') });
  for (const path of [prepared.dataDir, prepared.socketDir, prepared.postgresDir]) mkdirSync(path, { mode: 0o700 });
  handOver({ uid: SOMEBODY, searchesAll: false }, [prepared.postgresDir]);
  const server = await start(prepared);
  expect(statSync(`/proc/${server.pid}`).uid).toBe(SOMEBODY);
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  const { uid, mode } = statSync(prepared.socketDir);
  expect([uid, mode & 0o777]).toEqual([0, 0o700]);
});
