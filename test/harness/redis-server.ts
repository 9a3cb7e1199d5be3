import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { missingRedisServer } from '../launchers/binaries.ts';
import { freePorts } from '../launchers/free-ports.ts';
import type { LaunchedProcess } from '../launchers/launched-process.ts';
import { launcherName, openLauncher } from '../launchers/open-launcher.ts';

/** A real Redis server for one test: on a free loopback port, without persistence. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** For changes that an operator or an accident makes. */
  readonly admin: Redis;
  empty(): Promise<void>;
  /** Kills the server and starts an empty one on the same port, which is free `meanwhile`. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** Why no Redis is available for tests. `undefined` when one is. */
export const missingRedis: string | undefined = launcherName() === 'containers' ? undefined : missingRedisServer();

export interface TestRedisOptions {
  readonly password?: string;
  /** Further arguments of the command line. */
  readonly settings?: readonly string[];
}

export async function startTestRedis({ password = '', settings = [] }: TestRedisOptions = {}): Promise<TestRedis> {
  const [port = 0] = await freePorts(1);
  const start = () => startServer(port, ['--requirepass', password, ...settings]);
  let server = await start();
  const access = password === '' ? {} : { password };
  const admin = new Redis({ host: '127.0.0.1', port, ...access, lazyConnect: true, retryStrategy: () => 20 });
  // The connection breaks when a test kills the server. The next command reconnects.
  admin.on('error', () => {});
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid;
    },
    admin,
    empty: async () => {
      await admin.flushall();
    },
    async restart(meanwhile) {
      await server.end('SIGKILL');
      try {
        await meanwhile?.();
      } finally {
        server = await start();
      }
    },
    async stop() {
      admin.disconnect();
      await server.end('SIGKILL');
    },
  };
}

async function startServer(port: number, settings: readonly string[]): Promise<LaunchedProcess> {
  const launcher = await openLauncher();
  const server = await launcher.startRedis(port, ['--save', '', '--appendonly', 'no', ...settings]);
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await accepts(port))) {
    if (!server.hasEnded() && performance.now() < deadline) await sleep(10);
    else {
      await server.end('SIGKILL');
      throw new Error(`${server.command} did not start:\n${server.output()}`);
    }
  }
  return server;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
