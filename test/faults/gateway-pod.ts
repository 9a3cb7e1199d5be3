import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, inject } from 'vitest';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import {
  COMPILE_CACHE,
  type Deployment,
  type DeploymentOptions,
  prepareDeployment,
  REPOSITORY,
} from '../harness/deployment.ts';
import { showLogsOnFailure } from '../harness/failure-logs.ts';
import { startTestRedis, type TestRedis } from '../harness/redis-server.ts';
import { type Relay, startPostgresRelay } from '../harness/relay.ts';
import { untilAccepting, untilServing } from '../harness/serving.ts';
import type { TestConfig } from '../harness/test-config.ts';
import { envoyBinary } from '../launchers/binaries.ts';
import { startProcess, type TestProcess } from '../launchers/child-process.ts';
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from '../provider/fake-provider.ts';

/**
 * Gateway processes and an Envoy with their own folder and without a supervisor. Each is restarted
 * separately, like a container.
 */
export interface GatewayPod extends Omit<Deployment, 'remove'> {
  readonly workerPids: () => readonly number[];
  /** The restarts resolve when the pod serves again. */
  restartWorker(index: number, signal?: NodeJS.Signals): Promise<void>;
  restartEnvoy(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

export interface GatewayPodOptions extends DeploymentOptions {
  /** Database that the pods of a deployment share. Default: a new database. */
  readonly databaseUrl?: string;
  /** When the start resolves: `answers` does not wait for readiness. Default: `ready`. */
  readonly until?: 'answers' | 'ready';
}

/**
 * How long Envoy accepts new connections after it is asked to stop. A balancer must notice the stop
 * within this time.
 */
const ENVOY_DRAIN_S = 3;
/** Longer than any request of a test. */
const DRAIN_TIMEOUT_MS = 20_000;
const END_MS = DRAIN_TIMEOUT_MS + 5_000;

export interface TwoPods {
  readonly provider: FakeProvider;
  readonly pods: readonly [GatewayPod, GatewayPod];
  /** Connection between the second pod and PostgreSQL. */
  readonly way: Relay;
}

export interface TwoPodsOptions {
  readonly config: Omit<TestConfig, 'redis' | 'providers'>;
  readonly provider?: FakeProviderOptions;
  /** True puts `way` between the second pod and PostgreSQL. */
  readonly hasRelay?: boolean;
}

/**
 * Two pods that share PostgreSQL and Redis, with a provider, during the tests of a block. Prints
 * their logs when a test fails.
 */
export function withTwoPods({ config, provider, hasRelay = false }: TwoPodsOptions): TwoPods {
  const opened = {} as { -readonly [Name in keyof TwoPods]: TwoPods[Name] };
  const pods: GatewayPod[] = [];
  let redis: TestRedis | undefined;
  beforeAll(async () => {
    redis = await startTestRedis();
    opened.provider = await startFakeProvider(provider);
    const options = {
      postgresSocketDir: inject('postgresSocketDir'),
      config: { redis: redis.url, providers: { fake: { base_url: opened.provider.baseUrl } }, ...config },
    };
    const first = await startGatewayPod(options);
    pods.push(first);
    let { databaseUrl } = first;
    if (hasRelay) {
      const way = await startPostgresRelay(databaseUrl);
      opened.way = way;
      databaseUrl = way.url;
    }
    const second = await startGatewayPod({ ...options, databaseUrl });
    pods.push(second);
    opened.pods = [first, second];
  });
  afterAll(async () => {
    await Promise.all(pods.map((pod) => pod.close()));
    await opened.way?.close();
    await opened.provider?.close();
    await redis?.stop();
  });
  showLogsOnFailure(() => ({ logs: () => pods.map((pod) => pod.logs()).join('\n') }));
  return opened;
}

export async function startGatewayPod(options: GatewayPodOptions): Promise<GatewayPod> {
  const shared = options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl };
  const deployment = await prepareDeployment({ ...options, env: { ...options.env, ...shared } });
  const workers: TestProcess[] = [];
  const ended: TestProcess[] = [];
  let envoy: TestProcess | undefined;
  const running = (): TestProcess[] => [...workers, ...(envoy === undefined ? [] : [envoy])];
  const logs = (): string => [...ended, ...running()].map((process) => process.output()).join('\n');
  const close = async (): Promise<void> => {
    await Promise.all(running().map((process) => process.end('SIGTERM', END_MS)));
    await deployment.remove();
  };
  try {
    const bin = linkEnvoy(deployment);
    const count = Number(options.config.workers ?? 1);
    for (let index = 0; index < count; index++) workers.push(startWorker(deployment, index));
    envoy = startEnvoy(deployment, bin);
    await Promise.all(workers.map(untilListening));
    const until = options.until === 'answers' ? untilAccepting : untilServing;
    await until(deployment, running());
    return {
      ...deployment,
      databaseUrl: options.databaseUrl ?? deployment.databaseUrl,
      workerPids: () => workers.map(({ pid }) => pid),
      restartWorker: async (index, signal = 'SIGTERM') => {
        const worker = workers[index];
        if (worker === undefined) throw new Error(`there is no worker ${index}`);
        await worker.end(signal, END_MS);
        ended.push(worker);
        const next = startWorker(deployment, index);
        workers[index] = next;
        // Envoy sends readiness probes to any process, so this waits for the new one first.
        await untilListening(next);
        await untilServing(deployment, running());
      },
      restartEnvoy: async () => {
        if (envoy === undefined) throw new Error('there is no Envoy');
        await envoy.end('SIGTERM', END_MS);
        ended.push(envoy);
        envoy = startEnvoy(deployment, bin);
        await untilServing(deployment, running());
      },
      logs,
      close,
    };
  } catch (error) {
    const shown = logs();
    await close();
    throw new Error(`${(error as Error).message}\n${shown}`, { cause: error });
  }
}

function startWorker(deployment: Deployment, index: number): TestProcess {
  const own = { NODE_COMPILE_CACHE: COMPILE_CACHE, DRAIN_TIMEOUT_MS: String(DRAIN_TIMEOUT_MS) };
  return startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, ...own, ...deployment.env, WORKER_INDEX: String(index) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function untilListening(worker: TestProcess): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!worker.output().includes('the gateway process listens')) {
    if (worker.hasEnded() || performance.now() > deadline) throw new Error('a gateway process did not start');
    await sleep(20);
  }
}

/** The script of Envoy's container looks for Envoy on its path. */
function linkEnvoy({ paths }: Deployment): string {
  const bin = join(paths.dataDir, 'bin');
  mkdirSync(bin);
  symlinkSync(envoyBinary(), join(bin, 'envoy'));
  return bin;
}

function startEnvoy({ paths, env }: Deployment, bin: string): TestProcess {
  const args = ['-c', join(paths.envoyDir, 'envoy.yaml'), '--disable-hot-restart', '--concurrency', '1'];
  const drain = ['--drain-time-s', String(ENVOY_DRAIN_S), '--drain-strategy', 'immediate'];
  return startProcess(join(REPOSITORY, 'deploy/compose/run-envoy.sh'), [...args, ...drain, '--log-level', 'error'], {
    env: { ...process.env, ...env, PATH: `${bin}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
