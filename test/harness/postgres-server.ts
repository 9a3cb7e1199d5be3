/**
 * One real PostgreSQL for a whole test run; every stack makes a database of its own on it. Named as
 * vitest's globalSetup wants it.
 */
import type { TestProject } from 'vitest/node';
import { removeLeftovers } from '../launchers/leftovers.ts';
import { launcherName, openLauncher } from '../launchers/open-launcher.ts';
import { prepareMigrated } from './new-database.ts';

export interface TestPostgres {
  readonly socketDir: string;
  readonly pid: number;
  /** Processes to stop so that the server stands still. */
  processes(): readonly number[];
  /** kill -9 of the server. */
  crash(): Promise<void>;
  /** Ends it as an operator would. */
  shutDown(): Promise<void>;
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
      // Its backends too: one that is busy outlives it for a moment, and may still commit.
      for (const pid of server.processes()) killIfAlive(pid);
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
  // Durability has its own tests; here only speed would suffer. Files run side by side, each with
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
