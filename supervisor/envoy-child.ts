import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { Environment } from '#core/config/load.ts';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import envoyRelease from '#envoy/release.json' with { type: 'json' };
import { askAdmin } from '#ext-proc/envoy-config/envoy-admin.ts';
import { endingWithUs, endProcess, exitOf, type Running, whyNotReady } from './children/child-process.ts';
import { type StartFailure, startFailure } from './children/supervised-process.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/** `undefined`: there is no executable file. */
export function findEnvoy(env: Environment): string | undefined {
  const fetched = fileURLToPath(new URL(`../.cache/envoy/${envoyRelease.version}/envoy`, import.meta.url));
  const path = env.ENVOY_BIN ? resolve(env.ENVOY_BIN) : fetched;
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/**
 * One thread for each gateway process, because Envoy needs slightly less CPU for a request than a
 * gateway process. With one more thread fewer requests share a wake-up and a write, which costs 7 %
 * more CPU for small requests. Only large bodies cost more with one thread, because their pieces
 * interleave on one connection: 11 % at 100 KB (both measured on a busy machine). TLS needs an
 * additional thread.
 */
export function envoyThreads(
  { workers, listen }: Pick<GatewayConfig, 'workers' | 'listen'>,
  cores = availableParallelism(),
): number {
  return Math.min(cores, workers + (listen.tls === undefined ? 0 : 1));
}

export interface EnvoyOptions {
  readonly binary: string;
  readonly paths: Pick<RuntimePaths, 'envoyDir' | 'envoyAdminSocket'>;
  readonly env: Environment;
  /** Overridden by ENVOY_CONCURRENCY. */
  readonly threads: number;
  readonly drainTimeoutMs: number;
}

/** Resolves when Envoy's listeners are open. envoy.yaml is there once gateway processes listen. */
export async function startEnvoy(options: EnvoyOptions, signal: AbortSignal): Promise<Running | StartFailure> {
  if (signal.aborted) return startFailure('Envoy was not started');
  // SIGKILL, because without the supervisor no gateway process can respond, and Envoy has no state.
  const command = endingWithUs('KILL', options.binary, envoyArguments(options));
  const child = spawn(command.file, command.args, {
    detached: true,
    env: envoyEnvironment(options.env),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = exitOf(child);
  const pid = child.pid;
  if (pid === undefined) return startFailure(`Envoy could not be started from ${options.binary}`);
  const stop = (): Promise<void> => endProcess(child, exited, [{ signal: 'SIGTERM', waitMs: STOP_TIMEOUT_MS }]);

  const isLive = async () => (await askAdmin(options.paths.envoyAdminSocket, '/ready')) !== undefined;
  const problem = await whyNotReady(isLive, exited, { withinMs: START_TIMEOUT_MS, pollMs: POLL_MS, signal });
  if (problem === undefined) return { pid, exited, stop };
  await stop();
  return startFailure(`Envoy did not start: ${problem}`);
}

const ENVOY_LOG_LEVELS = 'main:error,ext_proc:error,misc:error,credential_injector:off';

function envoyArguments({ paths, env, threads, drainTimeoutMs }: EnvoyOptions): string[] {
  return [
    ...['-c', join(paths.envoyDir, 'envoy.yaml')],
    // Envoy is never restarted in place, and after a kill -9 its shared memory would remain.
    '--disable-hot-restart',
    ...['--concurrency', env.ENVOY_CONCURRENCY ?? String(threads)],
    // Silences warnings that need no action. main: every SIGTERM. ext_proc: every request without a
    // gateway process, which is also in the access log. misc: the matcher of trusted addresses
    // (IPMatcher), which is new in Envoy's interface. credential_injector: every request without a
    // token, which is also in the access lines.
    ...['--log-level', 'warn', '--component-log-level', ENVOY_LOG_LEVELS],
    ...['--drain-time-s', String(Math.max(1, Math.ceil(drainTimeoutMs / 1000)))],
    // Every response closes its connection as soon as the drain begins, because open ones would be
    // reset at the end.
    ...['--drain-strategy', 'immediate'],
  ];
}

/**
 * Only the gateway process has provider keys (docs/design.md, "Invariants", 9). Envoy signs
 * requests to AWS with the credentials of its environment, in the variables that AWS names.
 */
export function envoyEnvironment(env: Environment): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.has(name) || name.startsWith('AWS_')));
}

const PASSED: ReadonlySet<string> = new Set(['PATH', 'HOME', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR']);
