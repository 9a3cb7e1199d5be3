import { statfs } from 'node:fs/promises';
import type { Spool } from './spool.ts';

/**
 * Checks that the spool would take the charges of admitted requests, before a provider is called,
 * because a charge that neither PostgreSQL nor the spool takes is an answer that the customer does
 * not get and the provider is paid for.
 */
export interface SpoolRoom {
  /** The problem in words; `undefined` when charges would be taken. */
  problem(): string | undefined;
  /**
   * Reports a charge that the spool did not take: from now on the disk has to prove that it takes
   * writes.
   */
  failed(): void;
  close(): void;
}

/**
 * Charges of what is in flight when the room becomes scarce, some 700 bytes each, and answers for
 * replay, which may be large. The embedded database is on the same disk, and would have to recover
 * from a crash on a disk without any room.
 */
export const RESERVED_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 1_000;

export async function watchSpoolRoom(folder: string, spool: Pick<Spool, 'prove'>): Promise<SpoolRoom> {
  let problem: string | undefined;
  let hasFailed = false;

  async function look(): Promise<void> {
    const freeBytes = await freeBytesAt(folder);
    if (freeBytes < RESERVED_BYTES) {
      problem = `only ${freeBytes} bytes are free for charges at ${folder}: completions are refused below ${RESERVED_BYTES}`;
      return;
    }
    if (hasFailed) await spool.prove();
    hasFailed = false;
    problem = undefined;
  }

  function lookOrSay(): Promise<void> {
    return look().catch((error: unknown) => {
      problem = `charges cannot be written to ${folder}: ${error instanceof Error ? error.message : String(error)}`;
    });
  }

  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const lookAgain = (): void => {
    if (closed) return;
    timer = setTimeout(() => void lookOrSay().then(lookAgain), LOOK_EVERY_MS);
    timer.unref();
  };
  await lookOrSay();
  lookAgain();
  return {
    problem: () => problem,
    failed: () => {
      hasFailed = true;
      problem ??= `a charge could not be written to ${folder}`;
    },
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
