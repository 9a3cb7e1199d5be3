import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { POSTGRES_PASSWORD, prepareCompose, REDIS_PASSWORD, runToEnd } from '../deploy/compose.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { renderContainerConfig, type TestConfig } from '../harness/test-config.ts';
import { freePorts } from '../launchers/free-ports.ts';

/**
 * docker-compose.yml of this repository with a second gateway process and Envoy, a Redis replica,
 * and networks from which containers can be disconnected: one to PostgreSQL, and one to Redis for
 * each gateway process, so that each can be redirected to another Redis.
 */
export interface Battlefield {
  /** Origins of both Envoys. */
  readonly origins: readonly string[];
  readonly metricsOrigins: readonly string[];
  /** Connects from the host as the owner of the database. */
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  /** True if there is a C compiler, so that `setRedisClock` has an effect. */
  readonly canSetRedisClock: boolean;
  /** Sets how many seconds the clock of the first Redis is ahead of the host's. */
  setRedisClock(aheadSeconds: number): void;
  /** Runs `docker COMMAND …` with the service's container as the last argument. */
  docker(service: Service, command: string, ...options: readonly string[]): Promise<string>;
  /** Runs a command inside the container. */
  exec(service: Service, ...command: readonly string[]): Promise<string>;
  disconnect(service: Service, network: Network): Promise<void>;
  connect(service: Service, network: Network, alias?: string): Promise<void>;
  logs(): Promise<string>;
  down(): Promise<void>;
}

export type Service = 'gateway' | 'gateway-2' | 'envoy' | 'envoy-2' | 'postgres' | 'redis' | 'redis-2';
export type Network = 'default' | 'postgres' | 'redis-of-1' | 'redis-of-2' | 'replication';

const SERVICES: readonly Service[] = ['gateway', 'gateway-2', 'envoy', 'envoy-2', 'postgres', 'redis', 'redis-2'];
const STEPPED_CLOCK = join(REPOSITORY, 'test/load/stepped-clock.c');
const READY_MS = 120_000;

/**
 * The address of Docker's bridge, at which containers reach the host. The bridge is down while no
 * container uses it.
 */
export async function bridgeAddress(): Promise<string> {
  const shown = await runToEnd('ip', ['-4', '-o', 'addr', 'show', 'docker0'], process.env);
  const address = /inet ([\d.]+)/.exec(shown)?.[1];
  if (address === undefined) throw new Error(`docker0 has no address: ${shown}`);
  return address;
}

export async function raise(config: TestConfig): Promise<Battlefield> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-nemesis-'));
  const setRedisClock = (aheadSeconds: number): void => writeFileSync(join(folder, 'clock/redis'), `${aheadSeconds}\n`);
  mkdirSync(join(folder, 'config'));
  mkdirSync(join(folder, 'clock'));
  const compile = ['-O2', '-shared', '-fPIC', '-o', join(folder, 'clock/stepped-clock.so'), STEPPED_CLOCK];
  const canSetRedisClock = spawnSync('cc', compile).status === 0;
  setRedisClock(0);
  const configPath = join(folder, 'config/gateway.yaml');
  writeFileSync(configPath, renderContainerConfig(config));
  for (const readable of ['', 'config', 'clock']) chmodSync(join(folder, readable), 0o755);

  const compose = await prepareCompose();
  const [api = 0, metrics = 0, postgres = 0] = await freePorts(3);
  const file = join(folder, 'docker-compose.json');
  writeFileSync(file, composeFile({ folder, project: compose.project, canSetRedisClock, api, metrics, postgres }));
  const run = (...args: readonly string[]) => compose.run('-f', file, '--project-directory', REPOSITORY, ...args);
  const docker = (...args: readonly string[]) => runToEnd('docker', args, process.env);
  const container = (service: Service): string => `${compose.project}-${service}`;
  const databaseUrl = `postgres://gateway:${POSTGRES_PASSWORD}@127.0.0.1:${postgres}/gateway`;
  const field: Battlefield = {
    origins: [compose.apiOrigin, `http://127.0.0.1:${api}`],
    metricsOrigins: [compose.metricsOrigin, `http://127.0.0.1:${metrics}`],
    databaseUrl,
    env: { DATABASE_URL: databaseUrl, GATEWAY_CONFIG: configPath, GATEWAY_DATA: folder },
    canSetRedisClock,
    setRedisClock,
    docker: (service, command, ...options) => docker(command, ...options, container(service)),
    exec: (service, ...command) => docker('exec', container(service), ...command),
    disconnect: async (service, network) => {
      await docker('network', 'disconnect', `${compose.project}_${network}`, container(service));
    },
    connect: async (service, network, alias) => {
      const aliased = alias === undefined ? [] : ['--alias', alias];
      await docker('network', 'connect', ...aliased, `${compose.project}_${network}`, container(service));
    },
    logs: () => run('logs', '--no-color', '--timestamps'),
    down: async () => {
      await run('down', '-v', '--remove-orphans', '--timeout', '5');
      rmSync(folder, { recursive: true });
    },
  };
  try {
    await run('build', 'gateway');
    await run('up', '-d');
    await untilReady(field, READY_MS);
    return field;
  } catch (error) {
    const shown = await field.logs().catch(String);
    await field.down();
    throw new Error(`${(error as Error).message}\n${shown.slice(-4000)}`, { cause: error });
  }
}

/** Waits until both gateway processes are ready and no charge waits for PostgreSQL. */
export async function untilReady({ metricsOrigins }: Pick<Battlefield, 'metricsOrigins'>, timeoutMs: number) {
  const deadline = performance.now() + timeoutMs;
  for (const origin of metricsOrigins) {
    for (;;) {
      const reason = await whyNotReady(origin).catch(String);
      if (reason === undefined) break;
      if (performance.now() > deadline) throw new Error(`${origin} is not ready after ${timeoutMs} ms: ${reason}`);
      await sleep(250);
    }
  }
}

async function whyNotReady(metricsOrigin: string): Promise<string | undefined> {
  const ready = await fetch(`${metricsOrigin}/ready`);
  const text = await ready.text();
  if (!ready.ok) return text;
  const page = await (await fetch(`${metricsOrigin}/metrics`)).text();
  return /^gateway_charges_waiting(?:\{[^}]*\})? [1-9].*$/m.exec(page)?.[0];
}

interface ComposeOptions {
  readonly folder: string;
  readonly project: string;
  readonly canSetRedisClock: boolean;
  /** Ports on the host. */
  readonly api: number;
  readonly metrics: number;
  readonly postgres: number;
}

interface ServiceFile {
  readonly build?: object;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly command: readonly string[];
  readonly depends_on: Readonly<Record<string, object>>;
}

function composeFile({ folder, project, canSetRedisClock, api, metrics, postgres }: ComposeOptions): string {
  const original = parse(readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    services: Readonly<Record<'gateway' | 'envoy' | 'postgres' | 'redis', ServiceFile>>;
  };
  const { gateway, envoy, postgres: database, redis } = original.services;
  const { 'demo-provider': _, ...stores } = gateway.depends_on;
  const configured = (data: string): readonly string[] => [`${folder}/config:/config:ro`, `${data}:/data`];
  const { build, ...built } = { ...gateway, depends_on: stores };
  const clock = {
    volumes: [`${folder}/clock:/clock:ro`],
    environment: { LD_PRELOAD: '/clock/stepped-clock.so', STEPPED_CLOCK: '/clock/redis' },
  };
  const alsoAs = (alias: string) => ({ 'redis-of-1': {}, 'redis-of-2': {}, replication: { aliases: [alias] } });
  const services: Record<Service, object> = {
    gateway: { ...built, build, volumes: configured('data'), networks: ['default', 'postgres', 'redis-of-1'] },
    'gateway-2': {
      ...built,
      environment: { ...gateway.environment, ENVOY_HOST: 'envoy-2' },
      volumes: configured('data-2'),
      ports: [`127.0.0.1:${metrics}:9464`],
      networks: ['default', 'postgres', 'redis-of-2'],
    },
    envoy: { ...envoy, networks: ['default'] },
    'envoy-2': {
      ...envoy,
      networks: ['default'],
      volumes: envoy.volumes.map((volume) => volume.replace(/^data:/, 'data-2:')),
      ports: [`127.0.0.1:${api}:8080`],
      depends_on: { 'gateway-2': { condition: 'service_healthy' } },
    },
    postgres: { ...database, ports: [`127.0.0.1:${postgres}:5432`], networks: ['postgres'] },
    redis: { ...redis, ...(canSetRedisClock ? clock : {}), networks: alsoAs('redis-1') },
    'redis-2': {
      ...redis,
      command: [...redis.command, '--replicaof', 'redis-1', '6379', '--masterauth', REDIS_PASSWORD],
      depends_on: { redis: { condition: 'service_healthy' } },
      networks: alsoAs('redis-2'),
    },
  };
  return JSON.stringify({
    services: Object.fromEntries(
      SERVICES.map((name) => [name, { ...services[name], container_name: `${project}-${name}` }]),
    ),
    networks: { default: {}, postgres: {}, 'redis-of-1': {}, 'redis-of-2': {}, replication: {} },
    volumes: { data: {}, 'data-2': {}, postgres: {} },
  });
}
