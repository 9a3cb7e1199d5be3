/** One real PostgreSQL for a whole test run; every stack makes a database of its own on it. Named as vitest's globalSetup wants it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { runtimePaths } from '../../ext-proc/config/runtime-paths.ts';
import { startEmbeddedPostgres } from '../../supervisor/embedded-postgres.ts';
import { withChildren } from './process-tree.ts';

export interface TestPostgres {
  readonly socketDir: string;
  readonly pid: number;
  /** kill -9 of the server. */
  crash(): Promise<void>;
  isDown(): boolean;
  /** Starts it again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export async function startTestPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gw-pg-'));
  const paths = runtimePaths({ GATEWAY_DATA: dataDir });
  let server = await startEmbeddedPostgres(paths, { settings });
  let down = false;
  return {
    socketDir: paths.socketDir,
    get pid() {
      return server.pid;
    },
    crash: async () => {
      // Its backends too: one that is busy outlives it for a moment, and may still commit.
      for (const pid of withChildren(server.pid)) killIfAlive(pid);
      await server.exited;
      down = true;
    },
    isDown: () => down,
    restart: async () => {
      server = await startEmbeddedPostgres(paths, { settings });
      down = false;
    },
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

let running: TestPostgres | undefined;

export async function setup(project: TestProject): Promise<void> {
  // Durability has its own tests; here only speed would suffer.
  running = await startTestPostgres({ fsync: 'off' });
  project.provide('postgresSocketDir', running.socketDir);
}

export async function teardown(): Promise<void> {
  await running?.stop();
}

declare module 'vitest' {
  interface ProvidedContext {
    postgresSocketDir: string;
  }
}
