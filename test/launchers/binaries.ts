import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import { startEmbeddedPostgres } from '#supervisor/postgres/embedded-postgres.ts';
import { startProcess } from './child-process.ts';
import type { LaunchedProcess } from './launched-process.ts';
import type { Launcher, PostgresData } from './launcher.ts';
import { withChildren } from './process-tree.ts';

/** The Envoy that set-up fetched, the embedded PostgreSQL, and the machine's redis-server. */
export const binaries: Launcher = {
  startEnvoy: async (args) => startProcess(envoyBinary(), args, { stdio: ['ignore', 'pipe', 'pipe'] }),
  startRedis: async (port, settings) => startRedis(port, settings),
  createPostgres: async (settings) => createPostgres(settings),
};

export function envoyBinary(): string {
  return process.env.ENVOY_BIN ?? resolve(import.meta.dirname, '../../.cache/envoy/1.39.3/envoy');
}

const REDIS_SERVER = process.env.REDIS_SERVER ?? 'redis-server';

/** Why no Redis is available for tests. `undefined` when one is. */
export function missingRedisServer(): string | undefined {
  try {
    execFileSync(REDIS_SERVER, ['--version'], { stdio: 'ignore', timeout: 60_000 });
    return undefined;
  } catch {
    return 'redis-server 7.0 or later on the PATH (Debian: apt-get install redis-server)';
  }
}

function startRedis(port: number, settings: readonly string[]): LaunchedProcess {
  const folder = mkdtempSync(join(tmpdir(), 'gw-redis-'));
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...settings];
  const server = startProcess(REDIS_SERVER, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  return {
    ...server,
    end: async (signal, graceMs) => {
      await server.end(signal, graceMs);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function createPostgres(settings: Readonly<Record<string, string>>): PostgresData {
  const dataDir = mkdtempSync(join(tmpdir(), 'gw-pg-'));
  const paths = runtimePaths({ GATEWAY_DATA: dataDir });
  return {
    socketDir: paths.socketDir,
    start: async () => {
      const { pid, exited, stop } = await startEmbeddedPostgres(paths, { settings });
      return { pid, processes: () => withChildren(pid), exited, stop };
    },
    remove: async () => rmSync(dataDir, { recursive: true, force: true }),
  };
}
