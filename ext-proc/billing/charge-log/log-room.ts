import { statfs } from 'node:fs/promises';
import { keepDoing } from '#core/retry/keep-doing.ts';

/**
 * Space for the charges of requests in progress, some 700 bytes each, and for their stored
 * responses, which may be large. The embedded database is on the same disk, and would have to
 * recover on a full disk.
 */
export const RESERVED_BYTES = 32 * 1024 * 1024;
const LOOK_EVERY_MS = 1_000;

export type LogRoom = Awaited<ReturnType<typeof watchLogRoom>>;

/**
 * Checks before a provider is called that the log has room for the charge. If neither PostgreSQL
 * nor the log stores a charge, the provider bills a response that the customer does not get.
 */
export async function watchLogRoom(folder: string) {
  let problem: string | undefined;

  async function look(): Promise<void> {
    const freeBytes = await freeBytesAt(folder);
    problem =
      freeBytes < RESERVED_BYTES
        ? `only ${freeBytes} bytes are free for charges at ${folder}: completions are refused below ${RESERVED_BYTES}`
        : undefined;
  }

  function noteFailure(error: unknown): void {
    problem = `the free space for charges at ${folder} is unknown: ${error instanceof Error ? error.message : String(error)}`;
  }

  await look().catch(noteFailure);
  return {
    /** Describes the problem. `undefined`: there is room. */
    problem: () => problem,
    close: keepDoing(LOOK_EVERY_MS, look, noteFailure, 'after a pause'),
  };
}

export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
