import { mkdir } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { readDrainTimeoutMs } from '#core/config/drain-timeout.ts';
import { loadConfig } from '#core/config/load.ts';
import { formatProblem } from '#core/config/problem.ts';
import { configPath, runtimePaths } from '#core/config/runtime-paths.ts';
import { socketFolderProblem } from '#core/config/socket-folder.ts';
import { createLog, type Log } from '#core/log/log.ts';
import { refuseToStart } from '#core/process-end.ts';
import { reportListening } from '#core/report-listening.ts';
import { collectStartGarbage } from '#core/start-garbage.ts';
import { explainUnavailable } from '#database/until-usable.ts';
import { WorkerTaken } from './billing/charge-log/worker-lock.ts';
import { type OpenGateway, openGateway } from './process/open-gateway.ts';

/**
 * The gateway process: reads its environment and configuration, opens all parts, then tells the
 * supervisor that it listens. Drains on SIGTERM, or when the supervisor is gone.
 */
async function main(): Promise<void> {
  const drainTimeoutMs = readDrainTimeoutMs(process.env);
  if (typeof drainTimeoutMs === 'string') return refuseToStart(drainTimeoutMs);
  const path = configPath(process.env);
  const loaded = await loadConfig(path, process.env, { secrets: 'gateway' });
  if (!loaded.ok) return refuseToStart(loaded.problems.map(formatProblem).join('\n'));
  const log = createLog(process.env.LOG_LEVEL);
  for (const warning of loaded.warnings) log.warn(formatProblem(warning));
  const paths = runtimePaths(process.env);
  for (const folder of [paths.dataDir, paths.envoyDir, paths.socketDir])
    await mkdir(folder, { recursive: true, mode: 0o700 }).catch(explainUnusable);
  const folderProblem = socketFolderProblem(paths);
  if (folderProblem !== undefined) return refuseToStart(folderProblem);

  // Envoy would send requests to processes that nobody starts.
  const { workers } = loaded.config;
  if (process.env.WORKER_INDEX === undefined && workers > 1) return refuseToStart(oneProcessAlone(workers));
  const workerIndex = Number(process.env.WORKER_INDEX ?? '0');
  // Signals have no default action for the first process of a container, which may wait for stores.
  const endAtOnce = () => process.exit(0);
  process.once('SIGTERM', endAtOnce);
  const gateway = await openGateway({
    ...{ configPath: path, loaded, paths, workerIndex, log },
    isSupervised: process.connected === true,
    envoyHost: process.env.ENVOY_HOST,
  }).catch(explainUnusable);
  if (gateway.kind === 'refused') return refuseToStart(gateway.message);
  log.info({ worker: workerIndex, pid: process.pid }, 'the gateway process listens');
  reportListening();
  process.off('SIGTERM', endAtOnce);
  closeWhenAsked(gateway, log, drainTimeoutMs);
  // Now, because a killed process writes no cache. With it the next start needs half the CPU.
  flushCompileCache();
  await collectStartGarbage();
}

function oneProcessAlone(workers: number): string {
  const instead = 'Set workers to 1, and run more pods (replicas) or machines with the same stores.';
  return `workers: ${workers} needs the supervisor (npm start). A container is one gateway process. ${instead}`;
}

/** As `explainUnavailable`, with errors that only this process has. */
function explainUnusable(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  // The other process may be about to end.
  if (error instanceof WorkerTaken) process.stderr.write(`${error.message}\n`);
  // Of the operating system, such as a full disk.
  else if ('syscall' in error) process.stderr.write(`A file or an address cannot be used: ${error.message}.\n`);
  else explainUnavailable(error);
  process.exit(1);
}

function closeWhenAsked(gateway: OpenGateway, log: Log, drainTimeoutMs: number): void {
  let isClosing = false;
  const close = (reason: string, drainMs: number, leastStatus = 0) => {
    if (isClosing) return;
    isClosing = true;
    log.info({ reason }, 'draining');
    gateway.close(drainMs).then(
      (status) => process.exit(Math.max(status, leastStatus)),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => close('SIGTERM', drainTimeoutMs));
  process.on('SIGINT', () => close('SIGINT', drainTimeoutMs));
  // The supervisor was killed: no other process would stop this one.
  process.on('disconnect', () => close('the supervisor is gone', 0));
  // After a restart this process serves if the other one has ended, or is refused with a message.
  void gateway.replaced.then(() => close('another process keeps the limits', 0, 1));
}

await main();
