import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileLock, lockFile } from '../../../core/lock/file-lock.mjs';

/** Lock on the files of one worker on the volume: spool and journal. */
export type WorkerLock = FileLock;

/** The process that had them before may be about to end. */
const WAIT_SECONDS = 10;
/** `settlements-3.jsonl` belongs to the process with index 3. */
const OF_WORKER = /^[a-z]+-(\d+)\.jsonl$/;

/**
 * Throws when another process, of this container or another one, still has the files of this index.
 */
export async function lockWorker(folder: string, workerIndex: number): Promise<WorkerLock> {
  const lock = await tryLock(folder, workerIndex, WAIT_SECONDS);
  if (lock === undefined)
    throw new Error(`Another process still writes the files of process ${workerIndex} in ${folder}.`);
  return lock;
}

/**
 * Calls `adopt` for each other index that has files here and whose process is gone, with the lock
 * of that index. An index that is configured is no reason to wait: its process may never come back,
 * and finds nothing left to do if it does.
 */
export async function eachOrphan(
  folder: string,
  ownIndex: number,
  adopt: (workerIndex: number) => Promise<void>,
): Promise<void> {
  const indexes = (await readdir(folder)).map((name) => Number(OF_WORKER.exec(name)?.[1] ?? ownIndex));
  for (const index of new Set(indexes)) {
    const lock = index === ownIndex ? undefined : await tryLock(folder, index, 0);
    if (lock === undefined) continue;
    await adopt(index).finally(() => lock.release());
  }
}

function tryLock(folder: string, index: number, waitSeconds: number): Promise<WorkerLock | undefined> {
  return lockFile(join(folder, `worker-${index}.lock`), waitSeconds);
}
