import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import type { Role } from '#database/schema/roles.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { migratedFor } from './database-logins.ts';
import { newDatabase } from './new-database.ts';
import { type Operator, openOperator } from './operator.ts';
import { untilShipped } from './shipped.ts';
import { renderTestConfig, type TestConfig } from './test-config.ts';

/**
 * What a gateway needs before its processes start: a database of its own, free ports, a folder and
 * a configuration file.
 */
export interface Deployment {
  /** Origin of Envoy's public listener. */
  readonly origin: string;
  readonly apiPort: number;
  readonly metricsOrigin: string;
  readonly dashboardOrigin: string;
  readonly paths: RuntimePaths;
  /** Connects as the owner of the database. */
  readonly databaseUrl: string;
  readonly operator: Operator;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Replaces the configuration file, as an operator would. Does not wait until the gateway applies
   * it.
   */
  writeConfig(config: TestConfig): void;
  remove(): Promise<void>;
}

export interface DeploymentOptions {
  readonly config: TestConfig;
  /** Socket folder of the PostgreSQL server on which the database is created. */
  readonly postgresSocketDir: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Role of the gateway process's database user. Default: the owner. */
  readonly databaseRole?: Role;
  /** Parent of the data folder. Default: the temporary folder. */
  readonly folder?: string;
}

export const REPOSITORY = resolve(import.meta.dirname, '../..');
/** Shared by all gateways of all runs, because they run the same code. */
export const COMPILE_CACHE = join(REPOSITORY, '.cache/compiled');

export async function prepareDeployment(options: DeploymentOptions): Promise<Deployment> {
  const dataDir = mkdtempSync(join(options.folder ?? tmpdir(), 'gw-'));
  const database = await newDatabase(options.postgresSocketDir);
  const [api = 0, metrics = 0, dashboard = 0] = await freePorts(3);
  const configPath = join(dataDir, 'gateway.yaml');
  const writeConfig = (config: TestConfig): void => {
    writeFileSync(`${configPath}.new`, renderTestConfig(config, { api, metrics, dashboard }));
    renameSync(`${configPath}.new`, configPath);
  };
  writeConfig(options.config);
  const paths = runtimePaths({ GATEWAY_DATA: dataDir });
  const operator = await openOperator(database.url, () => untilShipped(paths));
  const { databaseRole } = options;
  const processUrl = databaseRole === undefined ? database.url : await migratedFor(database.url, databaseRole);
  const env = { GATEWAY_CONFIG: configPath, GATEWAY_DATA: dataDir, DATABASE_URL: processUrl, ...options.env };
  return {
    origin: `${options.config.tls ? 'https' : 'http'}://127.0.0.1:${api}`,
    apiPort: api,
    metricsOrigin: `http://127.0.0.1:${metrics}`,
    dashboardOrigin: `http://127.0.0.1:${dashboard}`,
    paths,
    databaseUrl: database.url,
    operator,
    env,
    writeConfig,
    remove: async () => {
      await operator.close();
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
