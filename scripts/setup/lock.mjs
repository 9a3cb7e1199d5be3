import { lockFile } from '../../core/lock/file-lock.mjs';

const LONGEST_WAIT_SECONDS = 20 * 60;

/** Runs `work` while no other set-up of this folder runs: two terminals, or a test beside a start, wait for each other. */
export async function withLock(path, say, work) {
  let lock = await lockFile(path, 0);
  if (lock === undefined) {
    say('Another set-up is running, waiting for it …');
    lock = await lockFile(path, LONGEST_WAIT_SECONDS);
  }
  if (lock === undefined) return `Another set-up has ${path} and does not end.`;
  try {
    return await work();
  } finally {
    lock.release();
  }
}
