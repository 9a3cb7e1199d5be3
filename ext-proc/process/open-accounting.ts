import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import { Accounting } from '../billing/accounting.ts';
import { ChargeLog, type WaitingCharge } from '../billing/charge-log/charge-log.ts';
import { countDamagedFiles } from '../billing/charge-log/damaged-lines.ts';
import { freeBytesAt, watchLogRoom } from '../billing/charge-log/log-room.ts';
import { lockWorker } from '../billing/charge-log/worker-lock.ts';
import { HoldKeeper } from '../billing/hold-keeper.ts';
import { Claims } from '../billing/idempotency/claims.ts';
import { LONG_WAIT_MS } from '../billing/shipper.ts';
import { type GatewayContext, LEASE_MS } from './gateway-context.ts';
import type { OpenStores } from './open-stores.ts';

const RENEW_EVERY_MS = 4_000;
/** A new master admits 15 s after its fence; 6 s remain for cancelling, counting and a commit. */
const RENEW_WITHIN_MS = 9_000;
const RETRY_MS = 1_000;
/** Other processes look for charges in the mirror every second, and then send them. */
const OTHERS_TAKE_MS = 3_000;

export interface OpenAccountingOptions extends GatewayContext {
  readonly stores: Pick<OpenStores, 'database' | 'limits' | 'mirror'>;
  readonly attempts: ProviderAttempts;
}

/** Parts that hold money while a request runs, and charge it: leases, log, accounting, claims. */
export type OpenAccounting = Awaited<ReturnType<typeof openAccounting>>;

/**
 * Opens these parts. Resolves when the charges that a crash left in the log are in the balances,
 * before any request is admitted against them (docs/design.md, "Charges").
 */
export async function openAccounting(options: OpenAccountingOptions) {
  const { stores, attempts, paths, workerIndex, config, clock, metrics, log } = options;
  const { database, limits, mirror } = stores;
  const folder = paths.chargeLogDir;
  const holds = keepHolds(options, () => accounting.cut());
  database.fences.onNewer((sinceMs) => holds.onNewerFence(sinceMs));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockWorker(folder, workerIndex);
  const chargeLog = await openOwnLog(options);
  const room = await watchLogRoom(folder);
  metrics.watchHolds(() => holds.live());
  const accounting = new Accounting({
    ...database,
    ...{ limits, attempts, mirror, holds, chargeLog, room, clock, metrics, log },
    durableIn: () => config().chargesDurableIn,
    // With limits in memory no other process could send the charges.
    othersTakeMs: mirror === undefined ? 0 : OTHERS_TAKE_MS,
  });
  // This comes first: after a commit of a waiting charge, the newest commit of the log is one that
  // the ledger has.
  await untilDone(
    () => accounting.ledgerChanges.catchUp(),
    'charges that the ledger may lack cannot be made again yet',
    log,
  );
  await untilDone(() => accounting.shipper.ship(), 'charges of a former process could not be made yet', log);
  await untilDone(() => accounting.recover(chargeLog.unsettled), 'a crash is not settled yet', log);
  chargeLog.unsettledEnded();
  metrics.watchChargeLog({
    waiting: () => chargeLog.waiting().length,
    oldestMs: () => accounting.shipper.oldestMs(),
    isFailing: () => chargeLog.isFailing(),
    freeBytes: () => freeBytesAt(folder),
    damagedFiles: () => countDamagedFiles(folder),
  });
  const claims = new Claims({
    store: database.idempotency,
    leaseMs: LEASE_MS,
    renewEveryMs: RENEW_EVERY_MS,
    mirror,
    log,
  });
  return {
    accounting,
    claims,
    holds,
    /** Charges that have waited for PostgreSQL for so long that completions are refused. */
    longWaiting(): readonly WaitingCharge[] {
      const late = new Set(accounting.shipper.waitingFor(LONG_WAIT_MS));
      return chargeLog.waiting().filter(({ generationId }) => late.has(generationId));
    },
    /** Charges in the log that PostgreSQL does not have yet. */
    waiting: () => chargeLog.waiting().length,
    /** Holds that are neither charged nor released. A charge that waits in the log is a charge. */
    openHolds: () => holds.live().filter(({ owedNanoUsd }) => owedNanoUsd === undefined).length,
    /** Called after the last request. Afterwards nothing is renewed any more. */
    close: async () => {
      claims.close();
      await accounting.close();
    },
    /** Called when nothing can charge any more. */
    closeLog: async () => {
      room.close();
      await chargeLog.close();
      lock.release();
    },
  };
}

function openOwnLog({ paths, workerIndex, clock, log }: GatewayContext): Promise<ChargeLog> {
  return ChargeLog.open({
    ...{ folder: paths.chargeLogDir, workerIndex, clock },
    onFailure: (error) =>
      log.error({ err: error }, 'the charge log cannot be written: what a crash would cut off now is not charged'),
    onDamage: (path, lines) =>
      log.error({ path, lines }, 'lines of the charge log cannot be read: they are kept aside'),
    onAdopted: (worker, charges) => log.warn({ worker, charges }, 'took over the charge log of a former process'),
    onNotAdopted: (worker, error) =>
      log.error({ err: error, worker }, 'the charge log of a former process cannot be read'),
  });
}

function keepHolds({ stores, clock, metrics, log }: OpenAccountingOptions, cut: () => void): HoldKeeper {
  return new HoldKeeper({
    limits: stores.limits,
    ...{ clock, log },
    renewEveryMs: RENEW_EVERY_MS,
    renewWithinMs: RENEW_WITHIN_MS,
    onProblem(problem) {
      const { holds } = problem;
      if (problem.kind === 'not_renewed') {
        log.warn({ err: problem.error, holds }, 'leases could not be renewed: tried again twice a second');
      } else if (problem.kind === 'stranded') {
        metrics.holdsLost(holds);
        log.error({ holds }, 'another master of Redis counts now and is not reached: requests end');
        cut();
      } else {
        metrics.holdsLost(holds);
        log.error({ holds }, 'the limit store lost holds and admitted other requests');
      }
    },
  });
}

async function untilDone(work: () => Promise<void>, whatIsNot: string, log: Log): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      log.error({ err: error }, whatIsNot);
      await sleep(RETRY_MS);
    }
  }
}
