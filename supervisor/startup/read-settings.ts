import { isAbsolute, resolve } from 'node:path';
import { readDrainTimeoutMs } from '#core/config/drain-timeout.ts';
import type { CheckedConfig } from '#core/config/gateway-config.ts';
import { type Environment, loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { configPath } from '#core/config/runtime-paths.ts';
import { POSTGRES_OF_FILE } from '#core/config/stores.ts';
import { connectionsOf } from '#database/open.ts';
import { findSetprivProblem } from '../children/child-process.ts';
import { envoyThreads, findEnvoy } from '../envoy-child.ts';
import type { Listener } from '../listen-check.ts';
import type { CheckedSettings } from '../settings.ts';
import { demoProviderPort } from './demo-model.ts';
import { findOllama } from './local-models.ts';

export interface ReadSettings {
  readonly settings: CheckedSettings;
  readonly config: CheckedConfig;
}

/** Returns the settings, or the problem as a message for the operator. */
export async function readSettings(given: Environment): Promise<ReadSettings | string> {
  const file = configPath(given);
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
  const { config, variables } = loaded;
  const demoPort = demoProviderPort(config);
  const settings: CheckedSettings = {
    ...{ env, variables, envoyBinary, drainTimeoutMs },
    configPath: isAbsolute(file) ? file : resolve(file),
    workers: config.workers,
    envoyThreads: envoyThreads(config),
    listeners: listenersOf(config, demoPort),
    ...(demoPort === undefined ? {} : { demoPort }),
    postgres: config.stores.postgres,
    postgresConnections: connectionsFor(config),
    postgresOfFile: postgresOfFile(env, config),
  };
  return { settings, config };
}

function listenersOf({ listen }: CheckedConfig, demoPort: number | undefined): Listener[] {
  return [
    { setting: 'listen.api', address: listen.api },
    { setting: 'listen.dashboard', address: listen.dashboard },
    { setting: 'listen.metrics', address: listen.metrics },
    ...(demoPort === undefined
      ? []
      : [{ setting: 'providers.demo.base_url', address: { host: '127.0.0.1', port: demoPort } }]),
  ];
}

/** Connections of all gateway processes, of operators, dashboard and a process being replaced. */
function connectionsFor({ workers, stores }: CheckedConfig): number {
  const ofOne = connectionsOf(stores.postgresPool);
  return 30 + 2 * ofOne + (2 + ofOne) * workers;
}

function postgresOfFile(env: Environment, { stores: { postgres } }: CheckedConfig): Environment {
  if (env.DATABASE_URL) return {};
  return { [POSTGRES_OF_FILE]: postgres.kind === 'url' ? postgres.url : 'embedded' };
}
