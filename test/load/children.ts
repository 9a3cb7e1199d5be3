import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { LoadJob, LoadResult } from './load-job.ts';

/** The processes around a load test. Each leaves by itself when the IPC channel closes. */
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

/** PostgreSQL at a distance. */
export interface FarPostgres {
  /** Stands for its socket's folder: an address of loopback where it has the usual port. */
  readonly host: string;
  stop(): Promise<void>;
}

/** `awayMs`: what a round trip to it takes longer, half of it each way. */
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
