import { fileURLToPath } from 'node:url';
import { ENDING_MS } from '#core/config/drain-timeout.ts';
import { startNodeChild } from './children/node-child.ts';
import {
  isStartFailure,
  keepRunning,
  type StartFailure,
  type SupervisedProcess,
  startFailure,
} from './children/supervised-process.ts';
import { gatewayEnvironment, keepDashboard } from './dashboard-child.ts';
import { type DemoProvider, listenForDemo } from './demo-on-demand.ts';
import { beginEnvoyDrain, letEnvoyHandOut } from './envoy-admin.ts';
import { startEnvoy } from './envoy-child.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
import { compileCache, type Settings } from './settings.ts';

export interface SupervisorOptions {
  readonly settings: Settings;
  report(line: string): void;
  /** Called if a process cannot be restarted. The owner then stops the rest. */
  gaveUp(message: string): void;
}

export interface Supervisor {
  readonly databaseUrl: string;
  /** Resolves when the dashboard is up, or its first start failed: the rest serves without it. */
  readonly dashboardTried: Promise<void>;
  /** Sends SIGHUP to every gateway process, which then reads the configuration again. */
  reload(): void;
  /** Lets requests in flight end, then stops everything in order. */
  drain(): Promise<void>;
  /** Ends everything immediately. */
  kill(): void;
}

/**
 * Node options for gateway processes. V8 collects young objects, and the memory of their buffers,
 * when a semi-space is full, and copies those still in use. With 16 MiB, 32 requests in flight cost
 * 7 % more CPU and streams 19 % more, a single request the same. 64 MiB save nothing more
 * (measured). After load all processes together need 13 MB more than with 16. Node's default
 * depends on the machine's memory.
 */
export const GATEWAY_NODE_OPTIONS: readonly string[] = ['--max-semi-space-size=32'];

const START_TIMEOUT_MS = 60_000;

/**
 * Starts the database, then dashboard and gateway processes, then Envoy, and listens for the demo
 * provider. If one fails, the others are stopped.
 */
export async function startSupervisor(
  options: SupervisorOptions,
  signal: AbortSignal,
): Promise<Supervisor | StartFailure> {
  const { settings } = options;
  const kept: {
    database?: SupervisedProcess;
    demo?: DemoProvider;
    dashboard?: SupervisedProcess;
    envoy?: SupervisedProcess;
    gateways: SupervisedProcess[];
  } = { gateways: [] };

  const stopAll = async (): Promise<void> => {
    await Promise.all([kept.dashboard, ...kept.gateways].map((one) => one?.stop()));
    if (kept.envoy !== undefined) await letEnvoyHandOut(settings.paths.envoyAdminSocket);
    await kept.envoy?.stop();
    await kept.demo?.stop();
    await kept.database?.stop();
  };
  const fail = async (failure: StartFailure): Promise<StartFailure> => {
    await stopAll();
    return failure;
  };

  if (settings.demoPort !== undefined) {
    const demo = await listenForDemo(settings, settings.demoPort, options.report);
    if (isStartFailure(demo)) return demo;
    kept.demo = demo;
  }
  const database = await startDatabase(options, signal);
  if (isStartFailure(database)) return fail(database);
  if (database.process !== undefined) kept.database = database.process;

  // Starts in parallel with the gateway processes. Whichever comes first migrates, and the other
  // waits.
  const dashboard = keepDashboard(settings, { databaseUrl: database.url, report: options.report });
  kept.dashboard = dashboard;
  for (let index = 0; index < settings.workers; index++) {
    const gateway = await keepGateway(options, index, database.url, signal);
    if (isStartFailure(gateway)) return fail(gateway);
    kept.gateways.push(gateway);
  }
  const envoy = await keepEnvoy(options, signal);
  if (isStartFailure(envoy)) return fail(envoy);
  kept.envoy = envoy;

  return {
    databaseUrl: database.url,
    dashboardTried: dashboard.tried,
    reload: () => signalAll(kept.gateways, 'SIGHUP'),
    drain: async () => {
      await beginEnvoyDrain(settings.paths.envoyAdminSocket);
      await stopAll();
    },
    kill: () => {
      signalAll([envoy, ...kept.gateways, kept.dashboard, kept.demo], 'SIGKILL');
      // Closest to kill -9, but PostgreSQL removes its shared memory.
      signalAll([kept.database], 'SIGQUIT');
    },
  };
}

async function startDatabase(
  { settings, report, gaveUp }: SupervisorOptions,
  signal: AbortSignal,
): Promise<{ url: string; process?: SupervisedProcess } | StartFailure> {
  if (settings.postgres.kind === 'url') return { url: settings.postgres.url };
  let server: EmbeddedPostgres | undefined;
  const start = async (): Promise<EmbeddedPostgres | StartFailure> => {
    try {
      server = await startEmbeddedPostgres(settings.paths, {
        settings: { max_connections: String(settings.postgresConnections) },
        onLog: (line) => report(`PostgreSQL: ${line}`),
      });
      return server;
    } catch (error) {
      return startFailure(error instanceof Error ? error.message : String(error));
    }
  };
  const process = await keepRunning({ name: 'PostgreSQL', start, report, gaveUp }, signal);
  if (isStartFailure(process)) return process;
  return server === undefined ? startFailure('PostgreSQL was not started') : { url: server.url, process };
}

function keepGateway(
  { settings, report, gaveUp }: SupervisorOptions,
  index: number,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<SupervisedProcess | StartFailure> {
  const child = {
    name: settings.workers === 1 ? 'The gateway process' : `Gateway process ${index}`,
    script: fileURLToPath(new URL('../ext-proc/main.ts', import.meta.url)),
    nodeOptions: GATEWAY_NODE_OPTIONS,
    env: {
      ...gatewayEnvironment(settings),
      // The supervisor sets this for itself. Under load a single arena for all threads fragments:
      // 38 MB more after 32,000 requests, compared with 4 MB less at rest.
      MALLOC_ARENA_MAX: undefined,
      NODE_COMPILE_CACHE: compileCache(settings),
      GATEWAY_CONFIG: settings.configPath,
      GATEWAY_DATA: settings.paths.dataDir,
      DATABASE_URL: databaseUrl,
      ...settings.postgresOfFile,
      DRAIN_TIMEOUT_MS: String(settings.drainTimeoutMs),
      WORKER_INDEX: String(index),
    },
    startTimeoutMs: START_TIMEOUT_MS,
    // A gateway process limits the time of its own end. This limit is for one that fails to.
    stopTimeoutMs: settings.drainTimeoutMs + ENDING_MS,
  };
  return keepRunning({ name: child.name, start: (abort) => startNodeChild(child, abort), report, gaveUp }, signal);
}

function keepEnvoy(
  { settings, report, gaveUp }: SupervisorOptions,
  signal: AbortSignal,
): Promise<SupervisedProcess | StartFailure> {
  const { paths, env, envoyThreads: threads, drainTimeoutMs } = settings;
  const envoy = { binary: settings.envoyBinary, paths, env, threads, drainTimeoutMs };
  return keepRunning({ name: 'Envoy', start: (abort) => startEnvoy(envoy, abort), report, gaveUp }, signal);
}

function signalAll(all: readonly (SupervisedProcess | undefined)[], signal: NodeJS.Signals): void {
  for (const one of all) {
    const pid = one?.current()?.pid;
    if (pid !== undefined) process.kill(pid, signal);
  }
}
