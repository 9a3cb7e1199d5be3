import { isAbsolute, join, resolve } from 'node:path';
import { readDrainTimeoutMs } from '../core/config/drain-timeout.ts';
import type { CheckedConfig } from '../core/config/gateway-config.ts';
import { loadConfig } from '../core/config/load.ts';
import { formatProblem } from '../core/config/problem.ts';
import { type RuntimePaths, runtimePaths } from '../core/config/runtime-paths.ts';
import { findSetprivProblem } from './children/child-process.ts';
import { type Environment, findEnvoy } from './envoy-child.ts';
import { findOllama } from './local-models.ts';

/** All settings of the supervisor, read once at its start. */
export interface Settings {
  readonly env: Environment;
  readonly configPath: string;
  readonly config: CheckedConfig;
  /** Variables of the environment that the configuration needs in every process. */
  readonly sharedVariables: readonly string[];
  readonly paths: RuntimePaths;
  readonly envoyBinary: string;
  /** Time for requests in flight after SIGTERM, in ms. */
  readonly drainTimeoutMs: number;
}

/** The settings, or the problem as text for the operator. */
export async function readSettings(given: Environment): Promise<Settings | string> {
  const file = given.GATEWAY_CONFIG ?? 'config/gateway.yaml';
  const first = await loadConfig(file, given, { secrets: 'checked' });
  const found = first.ok ? await findOllama(first.config, given) : undefined;
  const env = { ...given, ...found };
  const loaded = found === undefined ? first : await loadConfig(file, env, { secrets: 'checked' });
  if (!loaded.ok) return `The configuration is refused:\n${loaded.problems.map(formatProblem).join('\n')}`;
  const envoyBinary = findEnvoy(env);
  if (envoyBinary === undefined) {
    return env.ENVOY_BIN
      ? `ENVOY_BIN is set to ${env.ENVOY_BIN}, which is not an executable file.`
      : 'There is no Envoy: run node scripts/setup.mjs, or set ENVOY_BIN.';
  }
  const setprivProblem = findSetprivProblem();
  if (setprivProblem !== undefined) return setprivProblem;
  const drainTimeoutMs = readDrainTimeoutMs(env);
  if (typeof drainTimeoutMs === 'string') return drainTimeoutMs;
  if (env.ENVOY_CONCURRENCY !== undefined && !/^[1-9]\d{0,2}$/.test(env.ENVOY_CONCURRENCY)) {
    return `ENVOY_CONCURRENCY takes a number of threads from 1 to 999, not ${env.ENVOY_CONCURRENCY}.`;
  }
  const configPath = isAbsolute(file) ? file : resolve(file);
  const { config, sharedVariables } = loaded;
  return { env, configPath, config, sharedVariables, paths: runtimePaths(env), envoyBinary, drainTimeoutMs };
}

/**
 * Folder of compiled code for Node: with it a restart costs 0.43 instead of 0.73 s of CPU
 * (measured). `npm start` uses a folder of this clone, which set-up has filled; elsewhere the clone
 * may be read-only.
 */
export function compileCache({ env, paths }: Pick<Settings, 'env' | 'paths'>): string {
  return env.NODE_COMPILE_CACHE ?? join(paths.dataDir, 'compile-cache');
}
