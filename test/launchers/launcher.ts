import type { LaunchedProcess } from './launched-process.ts';

/**
 * How tests get Envoy, PostgreSQL and Redis: as binaries of this machine, or from containers. The
 * same tests run with either.
 *
 * On binaries always: Envoy under the supervisor (`startSupervisedStack`, `startService`) and its
 * embedded PostgreSQL, because it brings its own; Envoy under the script that its container runs
 * (`test/deploy/unsupervised.ts`), which compose.test.ts has in a container; PostgreSQL with tools
 * or a standby of its own in `test/faults`; and the bench, which compares processes.
 */
export interface Launcher {
  /** The folders that the arguments name lie under the temporary folder. */
  startEnvoy(args: readonly string[]): Promise<LaunchedProcess>;
  /** Resolves before it accepts connections. */
  startRedis(port: number, settings: readonly string[]): Promise<LaunchedProcess>;
  /** Data of its own, on which nothing runs yet. */
  createPostgres(settings: Readonly<Record<string, string>>): Promise<PostgresData>;
}

/** Servers come and go on it, one at a time. */
export interface PostgresData {
  readonly socketDir: string;
  /** Resolves when the server answers. */
  start(): Promise<PostgresServer>;
  /** Takes the data away; the server has been stopped. */
  remove(): Promise<void>;
}

export interface PostgresServer {
  readonly pid: number;
  /**
   * Processes to stop so that the server stands still: the server, its backends, and the init
   * process of a container.
   */
  processes(): readonly number[];
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}
