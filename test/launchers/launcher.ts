import type { LaunchedProcess } from './launched-process.ts';

/**
 * How tests get Envoy, PostgreSQL and Redis: as binaries of this machine, or from containers. The
 * same tests run with either.
 *
 * Some tests always run binaries. The supervisor (`startSupervisedStack`, `startService`) brings
 * its own Envoy and PostgreSQL. `test/deploy/unsupervised.ts` runs the script of Envoy's container,
 * which compose.test.ts runs in the container. `test/faults` runs PostgreSQL with tools or a
 * standby of its own. The bench compares processes.
 */
export interface Launcher {
  /** Folders named in the arguments must be under the temporary folder. */
  startEnvoy(args: readonly string[]): Promise<LaunchedProcess>;
  /** May resolve before Redis accepts connections. */
  startRedis(port: number, settings: readonly string[]): Promise<LaunchedProcess>;
  /** Creates a data folder, on which no server runs yet. */
  createPostgres(settings: Readonly<Record<string, string>>): Promise<PostgresData>;
}

/** A data folder on which servers run, one at a time. */
export interface PostgresData {
  readonly socketDir: string;
  /** Resolves when the server accepts queries. */
  start(): Promise<PostgresServer>;
  /** Removes the data. The server must have been stopped. */
  remove(): Promise<void>;
}

export interface PostgresServer {
  readonly pid: number;
  /**
   * Processes to suspend so that the server hangs: the server, its backends, and the init process
   * of a container.
   */
  processes(): readonly number[];
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}
