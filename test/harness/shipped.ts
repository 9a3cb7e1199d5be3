import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { workersIn } from '#ext-proc/billing/charge-log/worker-lock.ts';

const POLL_MS = 10;
/** For a ledger that is there. */
const SHIPPED_WITHIN_MS = 3_000;

/** Waits until no charge waits in the data folder, or the time is over. */
export async function untilShipped(
  paths: Pick<RuntimePaths, 'spoolDir'>,
  timeoutMs = SHIPPED_WITHIN_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while ((await areCharges(paths)) && performance.now() < deadline) await sleep(POLL_MS);
}

/** True while charges wait in the data folder. */
export async function areCharges({ spoolDir }: Pick<RuntimePaths, 'spoolDir'>): Promise<boolean> {
  if (!existsSync(spoolDir)) return false;
  for (const worker of await workersIn(spoolDir))
    if ((await readWorkerLog(spoolDir, worker)).waiting.length > 0) return true;
  return false;
}
