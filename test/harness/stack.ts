import { join } from 'node:path';
import { GATEWAY_NODE_OPTIONS } from '#supervisor/supervisor.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { ipcMessage, startProcess, type TestProcess } from '../launchers/child-process.ts';
import type { LaunchedProcess } from '../launchers/launched-process.ts';
import { openLauncher } from '../launchers/open-launcher.ts';
import { COMPILE_CACHE, type Deployment, type DeploymentOptions, prepareDeployment, REPOSITORY } from './deployment.ts';
import { untilServing } from './serving.ts';

/**
 * The whole gateway as in production. Its processes are started one by one, so that a test can
 * reach each.
 */
export interface Stack extends Omit<Deployment, 'remove'> {
  readonly gateway: TestProcess;
  readonly envoy: LaunchedProcess;
  /** Ends the gateway process, runs `meanwhile`, and starts a new process. */
  restartGateway(signal: NodeJS.Signals, meanwhile?: () => Promise<void>): Promise<void>;
  /** Output of all processes. */
  logs(): string;
  close(): Promise<void>;
}

export async function startStack(options: DeploymentOptions): Promise<Stack> {
  const deployment = await prepareDeployment(options);
  const processes: LaunchedProcess[] = [];
  const logs = (): string => processes.map((process) => process.output()).join('\n');
  const close = async (): Promise<void> => {
    await Promise.all(processes.map((process) => process.end()));
    await deployment.remove();
  };
  try {
    const startOne = async (): Promise<TestProcess> => {
      const started = startGateway(deployment);
      processes.push(started);
      await ipcMessage(started, 'listening');
      return started;
    };
    let gateway = await startOne();
    const envoy = await startEnvoy(deployment);
    processes.push(envoy);
    await untilServing(deployment, processes);
    return {
      ...deployment,
      get gateway() {
        return gateway;
      },
      envoy,
      restartGateway: async (signal, meanwhile) => {
        await gateway.end(signal, PATIENCE_MS);
        await meanwhile?.();
        gateway = await startOne();
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

/** The same gateway under the supervisor of `npm start`, which restarts processes that die. */
export interface SupervisedStack extends Omit<Deployment, 'remove'> {
  readonly supervisorPid: number;
  /** Ends all processes, and keeps the database so that a test can inspect it. */
  end(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

export async function startSupervisedStack(options: DeploymentOptions): Promise<SupervisedStack> {
  const deployment = await prepareDeployment(options);
  const supervisor = startProcess(process.execPath, [join(REPOSITORY, 'supervisor/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, DRAIN_TIMEOUT_MS: '1000', ...deployment.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => supervisor.end('SIGTERM', 60_000);
  const close = async (): Promise<void> => {
    await end();
    await deployment.remove();
  };
  try {
    await untilServing(deployment, [supervisor]);
  } catch (error) {
    await close();
    throw new Error(`${(error as Error).message}\n${supervisor.output()}`, { cause: error });
  }
  return { ...deployment, supervisorPid: supervisor.pid, end, logs: supervisor.output, close };
}

function startGateway(deployment: Deployment): TestProcess {
  return startProcess(process.execPath, [...GATEWAY_NODE_OPTIONS, join(REPOSITORY, 'ext-proc/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, DRAIN_TIMEOUT_MS: '1000', ...deployment.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

async function startEnvoy({ paths }: Deployment): Promise<LaunchedProcess> {
  const threads = process.env.ENVOY_CONCURRENCY ?? '1';
  const args = ['-c', join(paths.envoyDir, 'envoy.yaml'), '--use-dynamic-base-id', '--concurrency', threads];
  return (await openLauncher()).startEnvoy([...args, '--log-level', 'warn']);
}
