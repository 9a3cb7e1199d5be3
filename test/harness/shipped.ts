import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { workersIn } from '#ext-proc/billing/charge-log/worker-lock.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';

const POLL_MS = 10;

/** Waits until no charge waits in the data folder. Needs a ledger that is up or will come back. */
export async function untilShipped(paths: Pick<RuntimePaths, 'chargeLogDir'>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (await areCharges(paths)) {
    if (performance.now() > deadline) throw new Error(`charges still wait after ${PATIENCE_MS} ms`);
    await sleep(POLL_MS);
  }
}

/** True while charges wait in the data folder. */
export async function areCharges({ chargeLogDir }: Pick<RuntimePaths, 'chargeLogDir'>): Promise<boolean> {
  if (!existsSync(chargeLogDir)) return false;
  for (const worker of await workersIn(chargeLogDir))
    if ((await readWorkerLog(chargeLogDir, worker)).waiting.length > 0) return true;
  return false;
}
