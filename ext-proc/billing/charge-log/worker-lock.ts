import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileLock, isLocked, lockFile } from '#core/lock/file-lock.mjs';

export type WorkerLock = FileLock;

/** Wait for the former process, which may be about to end. */
const WAIT_SECONDS = 10;
/** File of a worker: `log-3.1.jsonl` belongs to worker 3. */
const OF_WORKER = /^[a-z]+-(\d+)\.(?:\d+\.)?jsonl$/;

/** Another process, in this container or another one, has the lock. */
export class WorkerTaken extends Error {}

/** Takes the lock. Throws `WorkerTaken`. */
export async function lockWorker(folder: string, workerIndex: number): Promise<WorkerLock> {
  const lock = await tryLock(folder, workerIndex, WAIT_SECONDS);
  if (lock === undefined)
    throw new WorkerTaken(`Another process still writes the files of process ${workerIndex} in ${folder}.`);
  return lock;
}

/**
 * Calls `adopt` for each other worker that has files here and whose process has ended, while this
 * process has the lock of that worker. Configured workers are adopted too, because their processes
 * may never return. If they do, they begin with an empty log.
 */
export async function eachOrphan(
  folder: string,
  ownIndex: number,
  adopt: (workerIndex: number) => Promise<void>,
): Promise<void> {
  for (const index of await workersIn(folder)) {
    const lock = index === ownIndex ? undefined : await tryLock(folder, index, 0);
    if (lock === undefined) continue;
    await adopt(index).finally(() => lock.release());
  }
}

/** Lists the workers that have files here. */
export async function workersIn(folder: string): Promise<ReadonlySet<number>> {
  return new Set((await readdir(folder)).flatMap((name) => OF_WORKER.exec(name)?.[1] ?? []).map(Number));
}

/** True if a process of this worker lives. Changes nothing. */
export function isWorkerAlive(folder: string, index: number): Promise<boolean> {
  return isLocked(lockPath(folder, index));
}

function tryLock(folder: string, index: number, waitSeconds: number): Promise<WorkerLock | undefined> {
  return lockFile(lockPath(folder, index), waitSeconds);
}

function lockPath(folder: string, index: number): string {
  return join(folder, `worker-${index}.lock`);
}
