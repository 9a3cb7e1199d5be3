import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { LoadJob, LoadResult } from './load-job.ts';

/** Child processes of a load test. Each one exits when its IPC channel closes. */
export interface MockProvider {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Generator {
  readonly pid: number;
  run(job: LoadJob): Promise<LoadResult>;
  stop(): Promise<void>;
}

export async function startMockProvider(): Promise<MockProvider> {
  const child = fork(resolve(import.meta.dirname, 'mock-provider.ts'));
  const message = await firstMessage(child);
  return { port: (message as { port: number }).port, pid: child.pid ?? 0, stop: () => stop(child) };
}

export async function startGenerator(): Promise<Generator> {
  const child = fork(resolve(import.meta.dirname, 'generator.ts'));
  await firstMessage(child);
  return {
    pid: child.pid ?? 0,
    run: async (job) => {
      child.send(job);
      return (await firstMessage(child)) as LoadResult;
    },
    stop: () => stop(child),
  };
}

/** PostgreSQL behind a relay that delays the traffic. */
export interface FarPostgres {
  /** A loopback address with the default port, to use in place of the socket's folder. */
  readonly host: string;
  stop(): Promise<void>;
}

/** `awayMs` is added to each round trip, half of it in each direction. */
export async function startFarPostgres(socketDir: string, awayMs: number): Promise<FarPostgres> {
  const host = `127.${[1, 2, 3].map(() => randomInt(1, 255)).join('.')}`;
  const socket = join(socketDir, '.s.PGSQL.5432');
  const child = fork(resolve(import.meta.dirname, 'delaying-relay.ts'), [host, '5432', socket, String(awayMs / 2)]);
  await firstMessage(child);
  return { host, stop: () => stop(child) };
}

async function firstMessage(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const died = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error(`${child.spawnargs.at(-1)} ended instead of answering`);
  });
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: ended.signal }), died])) as [unknown];
    return message;
  } finally {
    died.catch(() => {});
    ended.abort();
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.disconnect();
  await exit;
}
