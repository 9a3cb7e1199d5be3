import { join } from 'node:path';
import { COMPILE_CACHE, type Deployment, REPOSITORY } from '../../harness/deployment.ts';
import { ipcMessage, startProcess, type TestProcess } from '../../launchers/child-process.ts';

/**
 * Starts the dashboard's process with the configuration of a stack. Resolves when it listens.
 */
export async function startDashboardProcess(
  { env }: Pick<Deployment, 'env'>,
  more: Readonly<Record<string, string>> = {},
): Promise<TestProcess> {
  const started = startProcess(process.execPath, [join(REPOSITORY, 'dashboard/server/main.ts')], {
    cwd: REPOSITORY,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await ipcMessage(started, 'listening');
  return started;
}
