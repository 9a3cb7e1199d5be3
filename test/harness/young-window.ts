import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS, MINUTE_MS } from '#core/clock.ts';

/**
 * Waits for the next window unless `neededMs` of this one are left: what is counted per minute or
 * day starts again with each. The default suffices for a few requests on a busy machine, where a
 * process may pause for seconds.
 */
async function untilYoung(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await sleep(leftMs + 50);
}

export const untilMinuteIsYoung = (neededMs = 20_000): Promise<void> => untilYoung(MINUTE_MS, neededMs);
/** Attempts to sign in are counted by quarter of an hour. */
export const untilQuarterIsYoung = (): Promise<void> => untilYoung(15 * MINUTE_MS, 30_000);
export const untilDayIsYoung = (): Promise<void> => untilYoung(DAY_MS, 30_000);
