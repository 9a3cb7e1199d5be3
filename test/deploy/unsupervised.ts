import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Deployment, type DeploymentOptions, prepareDeployment, REPOSITORY } from '../harness/deployment.ts';
import { untilServing } from '../harness/serving.ts';
import { envoyBinary } from '../launchers/binaries.ts';
import { startProcess, type TestProcess } from '../launchers/child-process.ts';

/**
 * Gateway process and Envoy as in two containers: without a supervisor, Envoy under the script of
 * its container.
 */
export interface Unsupervised extends Omit<Deployment, 'remove'> {
  readonly gateway: TestProcess;
  /** Process of deploy/compose/run-envoy.sh, which receives Docker's signals. */
  readonly envoy: TestProcess;
  logs(): string;
  close(): Promise<void>;
}

export interface UnsupervisedOptions extends DeploymentOptions {
  /** How long a draining Envoy accepts new connections. */
  readonly envoyDrainS: number;
}

export async function startUnsupervised(options: UnsupervisedOptions): Promise<Unsupervised> {
  const deployment = await prepareDeployment(options);
  const env = { ...process.env, DRAIN_TIMEOUT_MS: '10000', ...deployment.env };
  const gateway = startProcess(process.execPath, [join(REPOSITORY, 'ext-proc/main.ts')], {
    cwd: REPOSITORY,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { paths } = deployment;
  const bin = join(paths.dataDir, 'bin');
  mkdirSync(bin);
  symlinkSync(envoyBinary(), join(bin, 'envoy'));
  const args = ['-c', join(paths.envoyDir, 'envoy.yaml'), '--disable-hot-restart', '--concurrency', '1'];
  const drain = ['--drain-time-s', String(options.envoyDrainS), '--drain-strategy', 'immediate'];
  const envoy = startProcess(
    join(REPOSITORY, 'deploy/compose/run-envoy.sh'),
    [...args, ...drain, '--log-level', 'error'],
    { env: { ...env, PATH: `${bin}:${process.env.PATH}` }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const logs = (): string => `${gateway.output()}\n${envoy.output()}`;
  const close = async (): Promise<void> => {
    await Promise.all([gateway.end('SIGTERM', 15_000), envoy.end('SIGTERM', 15_000)]);
    await deployment.remove();
  };
  try {
    await untilServing(deployment, [gateway, envoy]);
  } catch (error) {
    const shown = logs();
    await close();
    throw new Error(`${(error as Error).message}\n${shown}`, { cause: error });
  }
  return { ...deployment, gateway, envoy, logs, close };
}
