import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type RuntimePaths, runtimePaths } from '../../ext-proc/config/runtime-paths.ts';
import { embeddedDatabaseUrl } from '../../supervisor/embedded-postgres.ts';
import { ipcMessage, startProcess, type TestProcess } from './child-process.ts';
import { freePorts } from './free-ports.ts';
import { type Operator, operatorFor } from './operator.ts';
import { type Ports, renderTestConfig, type TestConfig } from './test-config.ts';

/** The whole gateway as in production: a database of its own, the gateway process, Envoy; on free ports and a temporary folder. */
export interface Stack {
  /** Of Envoy's public listener. */
  readonly origin: string;
  readonly metricsOrigin: string;
  readonly paths: RuntimePaths;
  readonly databaseUrl: string;
  readonly operator: Operator;
  readonly gateway: TestProcess;
  readonly envoy: TestProcess;
  /** Replaces the configuration file, as an operator would; does not wait until it is in force. */
  writeConfig(config: TestConfig): void;
  /** Everything that the processes have written. */
  logs(): string;
  close(): Promise<void>;
}

export interface StackOptions {
  readonly config: TestConfig;
  /** Of the PostgreSQL server that gets the database. */
  readonly postgresSocketDir: string;
  readonly env?: Readonly<Record<string, string>>;
}

const REPOSITORY = resolve(import.meta.dirname, '../..');
const READY_TIMEOUT_MS = 20_000;

export async function startStack(options: StackOptions): Promise<Stack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gw-'));
  const paths = runtimePaths({ GATEWAY_DATA: dataDir });
  mkdirSync(paths.socketDir, { recursive: true, mode: 0o700 });
  mkdirSync(paths.envoyDir, { recursive: true });
  const database = await createDatabase(options.postgresSocketDir);
  const [api = 0, metrics = 0, dashboard = 0] = await freePorts(3);
  const ports: Ports = { api, metrics, dashboard };
  const configPath = join(dataDir, 'gateway.yaml');
  const writeConfig = (config: TestConfig): void => {
    writeFileSync(`${configPath}.new`, renderTestConfig(config, ports));
    renameSync(`${configPath}.new`, configPath);
  };
  writeConfig(options.config);
  const env = { GATEWAY_CONFIG: configPath, GATEWAY_DATA: dataDir, DATABASE_URL: database.url, ...options.env };

  const processes: TestProcess[] = [];
  const logs = (): string => processes.map((process) => process.output()).join('\n');
  const close = async (): Promise<void> => {
    await Promise.all(processes.map((process) => process.end()));
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const gateway = startGateway(env);
    processes.push(gateway);
    await ipcMessage(gateway, 'listening');
    const envoy = startEnvoy(paths);
    processes.push(envoy);
    const metricsOrigin = `http://127.0.0.1:${metrics}`;
    await waitUntilListening(api, processes);
    await waitUntilReady(metricsOrigin, processes);
    return {
      origin: `${options.config.tls ? 'https' : 'http'}://127.0.0.1:${api}`,
      metricsOrigin,
      paths,
      databaseUrl: database.url,
      operator: operatorFor(env),
      gateway,
      envoy,
      writeConfig,
      logs,
      close,
    };
  } catch (error) {
    const shown = logs();
    await close();
    throw new Error(`${(error as Error).message}\n${shown}`, { cause: error });
  }
}

function startGateway(env: Readonly<Record<string, string>>): TestProcess {
  return startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

function startEnvoy(paths: RuntimePaths): TestProcess {
  const args = ['-c', join(paths.envoyDir, 'envoy.yaml'), '--use-dynamic-base-id', '--concurrency', '2'];
  return startProcess(envoyBinary(), [...args, '--log-level', 'warn'], { stdio: ['ignore', 'pipe', 'pipe'] });
}

export function envoyBinary(): string {
  return process.env.ENVOY_BIN ?? join(REPOSITORY, '.cache/envoy/1.39.3/envoy');
}

/** Readiness remembers its answer for half a second, so it is not asked before Envoy can be there. */
async function waitUntilListening(port: number, processes: readonly TestProcess[]): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline && !processes.some((process) => process.hasEnded())) {
    const socket = connect(port, '127.0.0.1');
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (connected) return;
    await sleep(10);
  }
}

async function waitUntilReady(metricsOrigin: string, processes: readonly TestProcess[]): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  let reason = '';
  while (performance.now() < deadline) {
    const dead = processes.find((process) => process.hasEnded());
    if (dead) throw new Error(`${dead.child.spawnfile} ended during the start`);
    try {
      const response = await fetch(`${metricsOrigin}/ready`);
      reason = await response.text();
      if (response.status === 200) return;
    } catch (error) {
      reason = (error as Error).message;
    }
    await sleep(25);
  }
  throw new Error(`not ready after ${READY_TIMEOUT_MS} ms: ${reason}`);
}

let databases = 0;

async function createDatabase(socketDir: string): Promise<{ url: string; drop(): Promise<void> }> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  const asAdmin = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: embeddedDatabaseUrl({ socketDir }, 'postgres') });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await asAdmin(`create database ${name}`);
  return {
    url: embeddedDatabaseUrl({ socketDir }, name),
    drop: () => asAdmin(`drop database ${name} with (force)`),
  };
}
