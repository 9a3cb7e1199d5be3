import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePorts } from '../integration/free-ports.ts';

/** A real Redis of a test's own: on a port of loopback that was free, without persistence. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** For what an operator or an accident does. */
  readonly admin: Redis;
  empty(): Promise<void>;
  /** Kills it and starts it again on the same port, empty. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const BINARY = process.env.REDIS_SERVER ?? 'redis-server';
const START_MS = 10_000;

/** Why there is no Redis to test with; `undefined` when there is one. */
export const missingRedis: string | undefined = findMissing();

function findMissing(): string | undefined {
  try {
    execFileSync(BINARY, ['--version'], { stdio: 'ignore', timeout: START_MS });
    return undefined;
  } catch {
    return 'redis-server 7.0 or later on the PATH (Debian: apt-get install redis-server)';
  }
}

export interface TestRedisOptions {
  readonly password?: string;
  /** More of the command line. */
  readonly settings?: readonly string[];
}

export async function startTestRedis({ password = '', settings = [] }: TestRedisOptions = {}): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-redis-'));
  const [port = 0] = await freePorts(1);
  const start = () => spawnServer(port, folder, ['--requirepass', password, ...settings]);
  let child = await start();
  const access = password === '' ? {} : { password };
  const admin = new Redis({ host: '127.0.0.1', port, ...access, lazyConnect: true, retryStrategy: () => 20 });
  // It is cut off when a test kills the server; the next command connects anew.
  admin.on('error', () => {});
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? 0;
    },
    admin,
    empty: async () => {
      await admin.flushall();
    },
    async restart() {
      await kill();
      child = await start();
    },
    async stop() {
      admin.disconnect();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function spawnServer(port: number, folder: string, settings: readonly string[]) {
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no'];
  const child = spawn(BINARY, [...args, ...settings], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const deadline = performance.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.exitCode === null && performance.now() < deadline) await sleep(10);
    else {
      child.kill('SIGKILL');
      throw new Error(`${BINARY} did not start: ${child.exitCode ?? 'not in time'}`);
    }
  }
  return child;
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
