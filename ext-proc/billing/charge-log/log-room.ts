import { statfs } from 'node:fs/promises';
import { keepDoing } from '#core/retry/keep-doing.ts';
import type { ChargeLog } from './charge-log.ts';

/**
 * Space for the charges of requests in progress, some 700 bytes each, and for their stored
 * responses, which may be large. The embedded database is on the same disk, and would have to
 * recover on a full disk.
 */
export const RESERVED_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 1_000;

export type LogRoom = Awaited<ReturnType<typeof watchLogRoom>>;

/**
 * Checks before a provider is called that the log could store the charge. If neither PostgreSQL nor
 * the log stores a charge, the provider bills a response that the customer does not get.
 */
export async function watchLogRoom(folder: string, chargeLog: Pick<ChargeLog, 'prove'>) {
  let problem: string | undefined;
  let hasFailed = false;

  async function look(): Promise<void> {
    const freeBytes = await freeBytesAt(folder);
    if (freeBytes < RESERVED_BYTES) {
      problem = `only ${freeBytes} bytes are free for charges at ${folder}: completions are refused below ${RESERVED_BYTES}`;
      return;
    }
    if (hasFailed) await chargeLog.prove();
    hasFailed = false;
    problem = undefined;
  }

  function noteFailure(error: unknown): void {
    problem = `charges cannot be written to ${folder}: ${error instanceof Error ? error.message : String(error)}`;
  }

  await look().catch(noteFailure);
  const close = keepDoing(LOOK_EVERY_MS, look, noteFailure, 'after a pause');
  return {
    /** Describes the problem. `undefined`: charges can be stored. */
    problem: () => problem,
    /** Notes that a charge was lost: a problem until a line has been written durably. */
    failed: (): void => {
      hasFailed = true;
      problem ??= `a charge could not be written to ${folder}`;
    },
    close,
  };
}

export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
