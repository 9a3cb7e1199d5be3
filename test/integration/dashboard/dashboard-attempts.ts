import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Attempts to sign in are counted by quarter of an hour. A test that counts them must not run into
 * the next one.
 */
const WINDOW_MS = 900_000;
const LONGEST_TEST_MS = 30_000;

export async function withinOneWindow(): Promise<void> {
  const leftMs = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (leftMs < LONGEST_TEST_MS) await sleep(leftMs);
}
