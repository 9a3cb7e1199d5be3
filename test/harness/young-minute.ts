import { setTimeout as sleep } from 'node:timers/promises';

const MINUTE_MS = 60_000;

/**
 * Waits for the next minute unless `neededMs` of this one are left: limits per minute start again
 * with each minute. The default suffices for a few requests on a busy machine, where a process may
 * pause for seconds.
 */
export async function untilMinuteIsYoung(neededMs = 20_000): Promise<void> {
  const leftMs = MINUTE_MS - (Date.now() % MINUTE_MS);
  if (leftMs < neededMs) await sleep(leftMs + 50);
}
