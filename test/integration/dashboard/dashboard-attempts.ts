import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Attempts to sign in are counted by quarters of an hour: a test that counts them must not reach
 * into the next one.
 */
const WINDOW_MS = 900_000;
const LONGEST_TEST_MS = 30_000;

export async function withinOneWindow(): Promise<void> {
  const leftMs = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (leftMs < LONGEST_TEST_MS) await sleep(leftMs);
}
