import { fileURLToPath } from 'node:url';
import { compileCache } from './compile-cache.ts';
import type { Environment } from './envoy-child.ts';
import type { Guard } from './guard.ts';
import { startNodeChild } from './node-child.ts';
import type { Settings } from './settings.ts';
import { keepTrying, type TriedProcess } from './supervised-process.ts';

const START_TIMEOUT_MS = 30_000;
/** It gives its requests three seconds. */
const STOP_TIMEOUT_MS = 5_000;
/** Its port may be taken until somebody changes that: no reason for a line every few seconds. */
const LONGEST_DELAY_MS = 30_000;

export interface DashboardOptions {
  readonly guard: Guard;
  readonly databaseUrl: string;
  report(line: string): void;
}

/** The API never waits for the dashboard, and serves without it. */
export function keepDashboard(settings: Settings, { guard, databaseUrl, report }: DashboardOptions): TriedProcess {
  const child = {
    name: 'The dashboard',
    script: fileURLToPath(new URL('../dashboard/server/main.ts', import.meta.url)),
    env: {
      ...dashboardEnvironment(settings),
      NODE_COMPILE_CACHE: compileCache(settings),
      GATEWAY_CONFIG: settings.configPath,
      GATEWAY_DATA: settings.paths.dataDir,
      DATABASE_URL: databaseUrl,
    },
    guard,
    startTimeoutMs: START_TIMEOUT_MS,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
  const start = (signal: AbortSignal) => startNodeChild(child, signal);
  return keepTrying({ name: child.name, start, report, longestDelayMs: LONGEST_DELAY_MS });
}

const NEEDED =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LOG_LEVEL|UV_THREADPOOL_SIZE|NODE_(?:OPTIONS|ENV|EXTRA_CA_CERTS)|SSL_CERT_(?:FILE|DIR)|PG[A-Z]+)$/;

/**
 * Not the providers' keys, which live in the gateway process alone (DESIGN invariant 9), and nothing else that it does not use: of the variables
 * that the configuration refers to those that no secret refers to.
 */
export function dashboardEnvironment({ env, sharedVariables }: Pick<Settings, 'env' | 'sharedVariables'>): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => NEEDED.test(name) || sharedVariables.includes(name)),
  );
}
