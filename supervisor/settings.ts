import { join } from 'node:path';
import type { Environment } from '#core/config/load.ts';
import type { ProcessVariables } from '#core/config/references.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import type { StoresConfig } from '#core/config/stores.ts';
import type { Listener } from './listen-check.ts';

/** What the supervisor needs of environment and configuration, read by supervisor/startup. */
export interface CheckedSettings {
  readonly env: Environment;
  readonly configPath: string;
  /** Environment variables that the configuration refers to. */
  readonly variables: ProcessVariables;
  readonly envoyBinary: string;
  /** Time for requests in flight after SIGTERM, in ms. */
  readonly drainTimeoutMs: number;
  readonly workers: number;
  readonly envoyThreads: number;
  readonly listeners: readonly Listener[];
  /** Port of the demo provider, if it is to run. */
  readonly demoPort?: number;
  readonly postgres: StoresConfig['postgres'];
  /** Connections that the embedded server allows. */
  readonly postgresConnections: number;
  /** Lets each process report a change of `stores.postgres`, although DATABASE_URL overrides it. */
  readonly postgresOfFile: Environment;
}

/** All settings of the supervisor, read once at its start. */
export interface Settings extends CheckedSettings {
  readonly paths: RuntimePaths;
}

/**
 * Folder of Node's compile cache. With it a restart costs 0.43 instead of 0.73 s of CPU (measured).
 * `npm start` uses a folder of this clone, filled by set-up. Elsewhere the clone may be read-only.
 */
export function compileCache({ env, paths }: Pick<Settings, 'env' | 'paths'>): string {
  return env.NODE_COMPILE_CACHE ?? join(paths.dataDir, 'compile-cache');
}
