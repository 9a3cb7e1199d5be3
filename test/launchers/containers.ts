import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { runtimePaths } from '../../ext-proc/config/runtime-paths.ts';
import { embeddedDatabaseUrl } from '../../supervisor/embedded-postgres.ts';
import { type Container, startContainer } from './container.ts';
import { imageOf } from './images.ts';
import type { Launcher, PostgresData } from './launcher.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 15_000;
const SHARED_MEMORY_BYTES = 256 * 1024 * 1024;

/** The images of docker-compose.yml or those that the environment names, in the network of this machine. */
export const containers: Launcher = {
  startEnvoy: (args) =>
    startContainer('envoy', {
      image: imageOf('ENVOY_IMAGE'),
      args,
      // Configurations, certificates and sockets of tests.
      folders: [tmpdir()],
      // The official image would otherwise leave root, to whom the gateway's sockets belong.
      environment: { ENVOY_UID: '0' },
    }),
  startRedis: (port, settings) =>
    startContainer('redis-server', {
      image: imageOf('REDIS_IMAGE'),
      args: ['--bind', '127.0.0.1', '--port', String(port), '--dir', '/tmp', ...settings],
    }),
  createPostgres: async (settings) => createPostgres(settings),
};

/** Every start is a container of its own on a folder out here. */
function createPostgres(settings: Readonly<Record<string, string>>): PostgresData {
  const folder = mkdtempSync(join(tmpdir(), 'gw-pg-'));
  const { postgresDir, socketDir } = runtimePaths({ GATEWAY_DATA: folder });
  // The server runs as somebody else there. Out here the folder above keeps others away.
  for (const path of [postgresDir, socketDir]) {
    mkdirSync(path);
    chmodSync(path, 0o777);
  }
  // No port: each server listens in a folder of its own.
  const all = { listen_addresses: '', unix_socket_directories: socketDir, timezone: 'UTC', ...settings };
  let isNew = true;
  return {
    socketDir,
    start: async () => {
      const container = await startContainer('postgres', {
        image: imageOf('POSTGRES_IMAGE'),
        args: Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
        environment: {
          PGDATA: postgresDir,
          POSTGRES_USER: 'gateway',
          POSTGRES_DB: 'postgres',
          POSTGRES_PASSWORD: 'gateway',
        },
        folders: [postgresDir, socketDir],
        sharedMemoryBytes: SHARED_MEMORY_BYTES,
      });
      await untilAnswering(container, socketDir);
      if (isNew) await sortByCodePoint(socketDir);
      isNew = false;
      const { pid, processes, exited, end } = container;
      return { pid, processes, exited, stop: () => end('SIGINT', STOP_GRACE_MS) };
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function untilAnswering(container: Container, socketDir: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (
    !(await ask(socketDir, ['select 1']).then(
      () => true,
      () => false,
    ))
  ) {
    if (container.hasEnded() || performance.now() > deadline) {
      throw new Error(`${container.command} did not answer:\n${container.output()}`);
    }
    await sleep(20);
  }
}

/** New databases are copies of this one. The embedded server sorts the same way, and images differ in it. */
function sortByCodePoint(socketDir: string): Promise<void> {
  return ask(socketDir, [
    'alter database template1 is_template false',
    'drop database template1',
    "create database template1 template template0 encoding 'UTF8' locale 'C.UTF-8' is_template true",
  ]);
}

async function ask(socketDir: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({
    connectionString: embeddedDatabaseUrl({ socketDir }, 'postgres'),
    connectionTimeoutMillis: 5_000,
  });
  try {
    await client.connect();
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
