/**
 * One real PostgreSQL server for a whole test run, on which every stack creates a database of its
 * own. The exports have the names that vitest's `globalSetup` requires.
 */
import type { TestProject } from 'vitest/node';
import { removeLeftovers } from '../launchers/leftovers.ts';
import { launcherName, openLauncher } from '../launchers/open-launcher.ts';
import { signalAll } from '../launchers/process-tree.ts';
import { prepareMigrated } from './new-database.ts';

export interface TestPostgres {
  readonly socketDir: string;
  readonly pid: number;
  /** Processes to suspend so that the server hangs. */
  processes(): readonly number[];
  /** kill -9 of the server. */
  crash(): Promise<void>;
  /** Stops the server as an operator would. */
  shutDown(): Promise<void>;
  isDown(): boolean;
  /** Starts the server again on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestPostgres(settings: Readonly<Record<string, string>> = {}): Promise<TestPostgres> {
  const data = await (await openLauncher()).createPostgres(settings);
  let server = await data.start();
  let down = false;
  return {
    socketDir: data.socketDir,
    get pid() {
      return server.pid;
    },
    processes: () => server.processes(),
    crash: async () => {
      // The backends too: a busy one outlives the server for a moment, and may still commit.
      signalAll(server.processes(), 'SIGKILL');
      await server.exited;
      await server.stop();
      down = true;
    },
    shutDown: async () => {
      await server.stop();
      down = true;
    },
    isDown: () => down,
    restart: async () => {
      server = await data.start();
      down = false;
    },
    stop: async () => {
      await server.stop();
      await data.remove();
    },
  };
}

let running: TestPostgres | undefined;

export async function setup(project: TestProject): Promise<void> {
  if (launcherName() === 'containers') removeLeftovers();
  // Durability has tests of its own, so `fsync` is off here. Test files run side by side, each with
  // up to four gateway processes.
  running = await startTestPostgres({ fsync: 'off', max_connections: '400' });
  await prepareMigrated(running.socketDir);
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
