import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { type Container, startContainer } from './container.ts';
import { imageOf } from './images.ts';
import type { LaunchedProcess } from './launched-process.ts';
import type { Launcher, PostgresData } from './launcher.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 15_000;
const SHARED_MEMORY_BYTES = 256 * 1024 * 1024;

/**
 * Containers of the images in docker-compose.yml, or of those that the environment names, on the
 * host's network.
 */
export const containers: Launcher = {
  startEnvoy: (args) =>
    startContainer('envoy', {
      image: imageOf('ENVOY_IMAGE'),
      args,
      // Holds the configurations, certificates and sockets of tests.
      folders: [tmpdir()],
      // The official image drops root by default, but root owns the gateway's sockets.
      environment: { ENVOY_UID: '0' },
    }),
  startRedis: async (port, settings) => startRedis(port, settings),
  createPostgres: async (settings) => createPostgres(settings),
};

async function startRedis(port: number, settings: readonly string[]): Promise<LaunchedProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-redis-'));
  const server = await startContainer('redis-server', {
    image: imageOf('REDIS_IMAGE'),
    // The official image's entry point drops root, but root owns the certificates of tests.
    entrypoint: ['redis-server'],
    args: ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...settings],
    folders: [tmpdir()],
  });
  void server.exited.then(() => rmSync(folder, { recursive: true, force: true }));
  return server;
}

/** Every start is a new container on the same host folder. */
function createPostgres(settings: Readonly<Record<string, string>>): PostgresData {
  const folder = mkdtempSync(join(tmpdir(), 'gw-pg-'));
  const { postgresDir, socketDir } = runtimePaths({ GATEWAY_DATA: folder });
  // In the container the server runs as another user. On the host the parent folder denies access
  // to others.
  for (const path of [postgresDir, socketDir]) {
    mkdirSync(path);
    chmodSync(path, 0o777);
  }
  // No TCP port: each server listens on a Unix socket in its own folder.
  const all = { listen_addresses: '', port: '5432', unix_socket_directories: socketDir, timezone: 'UTC', ...settings };
  const url = `postgres://gateway@/postgres?host=${encodeURIComponent(socketDir)}&port=${all.port}&sslmode=disable`;
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
      await untilAnswering(container, url);
      if (isNew) await sortByCodePoint(url);
      isNew = false;
      const { pid, processes, exited, end } = container;
      return { pid, processes, exited, stop: () => end('SIGINT', STOP_GRACE_MS) };
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function untilAnswering(container: Container, url: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (
    !(await ask(url, ['select 1']).then(
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

/**
 * Recreates `template1`, from which new databases are copied, with the collation of the embedded
 * server. The default collation differs between images.
 */
function sortByCodePoint(url: string): Promise<void> {
  return ask(url, [
    'alter database template1 is_template false',
    'drop database template1',
    "create database template1 template template0 encoding 'UTF8' locale 'C.UTF-8' is_template true",
  ]);
}

async function ask(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
