import { fileURLToPath } from 'node:url';
import type { Environment } from '#core/config/load.ts';
import { FRUGAL, startNodeChild } from './children/node-child.ts';
import { keepTrying, type TriedProcess } from './children/supervised-process.ts';
import { compileCache, type Settings } from './settings.ts';

const START_TIMEOUT_MS = 30_000;
/** Longer than the three seconds that the dashboard gives its requests in flight. */
const STOP_TIMEOUT_MS = 5_000;
/** A port may be in use for long, and a line every few seconds would flood the log. */
const LONGEST_DELAY_MS = 30_000;

export interface DashboardOptions {
  readonly databaseUrl: string;
  report(line: string): void;
}

/** Starts the dashboard and keeps it running. The API neither waits for it nor needs it. */
export function keepDashboard(settings: Settings, { databaseUrl, report }: DashboardOptions): TriedProcess {
  const child = {
    name: 'The dashboard',
    script: fileURLToPath(new URL('../dashboard/server/main.ts', import.meta.url)),
    nodeOptions: FRUGAL.nodeOptions,
    env: {
      ...FRUGAL.env,
      ...dashboardEnvironment(settings),
      NODE_COMPILE_CACHE: compileCache(settings),
      GATEWAY_CONFIG: settings.configPath,
      GATEWAY_DATA: settings.paths.dataDir,
      DATABASE_URL: databaseUrl,
    },
    startTimeoutMs: START_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
  const start = (signal: AbortSignal) => startNodeChild(child, signal);
  return keepTrying({ name: child.name, start, report, longestDelayMs: LONGEST_DELAY_MS });
}

const NEEDED =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LOG_LEVEL|UV_THREADPOOL_SIZE|NODE_(?:OPTIONS|ENV|EXTRA_CA_CERTS)|SSL_CERT_(?:FILE|DIR)|PG[A-Z]+)$/;

/**
 * Leaves out the providers' keys, which only the gateway process has (docs/design.md, "Invariants",
 * 9), and all other variables that the dashboard does not use. Variables of the configuration are
 * passed unless a secret of another process refers to them.
 */
export function dashboardEnvironment({ env, variables }: Pick<Settings, 'env' | 'variables'>): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => NEEDED.test(name) || variables.ofDashboard.includes(name)),
  );
}

/** Leaves out variables of sections that only the dashboard reads. */
export function gatewayEnvironment({ env, variables }: Pick<Settings, 'env' | 'variables'>): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => NEEDED.test(name) || !variables.ofDashboardAlone.includes(name)),
  );
}
