import { spawn, spawnSync } from 'node:child_process';
import { ROLES } from '#database/schema/roles.ts';
import { REPOSITORY } from '../harness/deployment.ts';
import { freePorts } from '../launchers/free-ports.ts';
import { type ImageVariable, imageOf } from '../launchers/images.ts';

/**
 * docker-compose.yml of this repository as a separate project, run by `docker compose` or, where it
 * is missing, docker-compose 1.29.
 */
export interface Compose {
  readonly apiOrigin: string;
  readonly dashboardOrigin: string;
  readonly metricsOrigin: string;
  readonly project: string;
  /** Image of the gateway process, the dashboard and the demo provider. */
  readonly image: string;
  /** Runs a command of compose. Rejects with the output if the exit status is not 0. */
  run(...args: readonly string[]): Promise<string>;
  /** Runs the operator's command line inside the gateway's container, and returns its JSON. */
  operate<T>(...args: readonly string[]): Promise<T>;
}

const COMMAND_TIMEOUT_MS = 300_000;
const IMAGE = 'inference-gateway:test';
export const POSTGRES_PASSWORD = 'postgresPassword';
export const REDIS_PASSWORD = 'redisPassword';
const VARIABLES: readonly ImageVariable[] = ['NODE_IMAGE', 'ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE'];

/** What this machine lacks for these tests. `undefined` if nothing. */
export function missingCompose(): string | undefined {
  if (!succeeds(['docker', 'info'])) return 'a Docker engine that answers';
  if (composeCommand() === undefined) return 'docker compose, or docker-compose';
  const absent = VARIABLES.filter((variable) => !hasImage(imageOf(variable)));
  if (absent.length === 0) return undefined;
  const names = absent.map((variable) => `${imageOf(variable)} (${variable})`);
  return `Docker images that are here or can be pulled: ${names.join(', ')}`;
}

function hasImage(image: string): boolean {
  return succeeds(['docker', 'image', 'inspect', image]) || succeeds(['docker', 'pull', '--quiet', image]);
}

function composeCommand(): readonly string[] | undefined {
  return [['docker', 'compose'], ['docker-compose']].find((command) => succeeds([...command, 'version']));
}

function succeeds([command = '', ...args]: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: COMMAND_TIMEOUT_MS }).status === 0;
}

export async function prepareCompose(): Promise<Compose> {
  const [command = '', ...first] = composeCommand() ?? [];
  const [api, dashboard, metrics] = await freePorts(3);
  const project = `gateway-test-${process.pid}`;
  const env = {
    ...process.env,
    COMPOSE_PROJECT_NAME: project,
    // The images work with the classic builder. A newer Docker ignores this variable.
    DOCKER_BUILDKIT: process.env.DOCKER_BUILDKIT ?? '0',
    // npm's registry may be reachable only from the host's network.
    BUILD_NETWORK: process.env.BUILD_NETWORK ?? 'host',
    GATEWAY_IMAGE: IMAGE,
    POSTGRES_PASSWORD,
    REDIS_PASSWORD,
    API_PORT: String(api),
    DASHBOARD_PORT: String(dashboard),
    METRICS_PORT: String(metrics),
    ...Object.fromEntries(ROLES.map((role) => [`${role.toUpperCase()}_PASSWORD`, `${role}Password`])),
  };
  const run = (...args: readonly string[]) => runToEnd(command, [...first, ...args], env);
  return {
    apiOrigin: `http://127.0.0.1:${api}`,
    dashboardOrigin: `http://127.0.0.1:${dashboard}`,
    metricsOrigin: `http://127.0.0.1:${metrics}`,
    project,
    image: IMAGE,
    run,
    operate: async (...args) => JSON.parse(await run('exec', '-T', 'gateway', 'gateway', ...args, '--json')),
  };
}

/** Resolves with standard output. Rejects with the output if the exit status is not 0. */
export function runToEnd(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  timeout = COMMAND_TIMEOUT_MS,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: REPOSITORY, env, timeout });
    let output = '';
    let errors = '';
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
    });
    child.stderr.on('data', (piece: Buffer) => {
      errors += piece.toString();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${(output + errors).slice(-4000)}`));
    });
  });
}
