import { mkdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '#core/log/log.ts';
import type { ProviderAttempts } from '#database/costs/provider-attempts.ts';
import { Accounting } from '../billing/accounting.ts';
import { HoldKeeper } from '../billing/hold-keeper.ts';
import { Claims } from '../billing/idempotency/claims.ts';
import { type IntentJournal, openIntentJournal } from '../billing/journal/intent-journal.ts';
import { intentsPath, readLeftIntents } from '../billing/journal/intent-lines.ts';
import { RecentCharges } from '../billing/journal/recent-charges.ts';
import type { Spool } from '../billing/spool/spool.ts';
import { openWorkerSpool } from '../billing/spool/spool-files.ts';
import { countDamagedFiles, keepAside, type OnDamage } from '../billing/spool/spool-lines.ts';
import { freeBytesAt, watchSpoolRoom } from '../billing/spool/spool-room.ts';
import { eachOrphan, lockWorker } from '../billing/spool/worker-lock.ts';
import { type GatewayContext, LEASE_MS } from './gateway-context.ts';
import type { OpenStores } from './open-stores.ts';

const RENEW_EVERY_MS = 4_000;
/**
 * A new master of Redis admits 15 s after its fence was raised. The remaining 6 s are for
 * cancelling, counting and a commit.
 */
const RENEW_WITHIN_MS = 9_000;
const RETRY_MS = 1_000;
/** Other processes look for charges of the mirror every second, then send them. */
const OTHERS_TAKE_MS = 3_000;

export interface OpenAccountingOptions extends GatewayContext {
  readonly stores: Pick<OpenStores, 'database' | 'limits' | 'mirror'>;
  readonly attempts: ProviderAttempts;
}

/** Parts that hold money while a request runs, and charge it: leases, spool, accounting, claims. */
export interface OpenAccounting {
  readonly accounting: Accounting;
  readonly claims: Claims;
  readonly holds: HoldKeeper;
  readonly spool: Spool;
  /** Held, and neither charged nor given back; what waits in the spool is charged. */
  openHolds(): number;
  /** After the last request: nothing is renewed any more. */
  close(): Promise<void>;
  /** After everything that could still charge. */
  closeSpool(): Promise<void>;
}

/**
 * Resolves when the charges that a crash left in the spool are in the balances, before any request
 * is admitted against them (docs/design.md, "The journal").
 */
export async function openAccounting(options: OpenAccountingOptions): Promise<OpenAccounting> {
  const { stores, attempts, paths, workerIndex, clock, metrics, log } = options;
  const { database, limits, mirror } = stores;
  const folder = paths.spoolDir;
  const holds = keepHolds(options, () => accounting.cut());
  database.fences.onNewer((sinceMs) => holds.distrust(sinceMs));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lock = await lockWorker(folder, workerIndex);
  const spool = await openOwnSpool(options);
  const room = await watchSpoolRoom(folder, spool);
  metrics.watchHolds(() => holds.live());
  const recent = new RecentCharges({
    folder,
    workerIndex,
    clock,
    onFailure: (error) => log.error({ err: error }, 'recent charges cannot be kept: a failover now could lose them'),
    onDamage: tellDamage(log),
  });
  const accounting = new Accounting({
    ...database,
    limits,
    attempts,
    mirror,
    holds,
    spool,
    room,
    journal: () => journal,
    recent,
    // Limits in memory: no other process could send the charges.
    othersTakeMs: mirror === undefined ? 0 : OTHERS_TAKE_MS,
    clock,
    metrics,
    log,
  });
  await untilDone(() => accounting.replaySpool(), 'the spool could not be replayed yet', log);
  const journal = await chargeFormer(options, accounting, recent);
  metrics.watchJournal(() => journal.isBehind() || recent.isBehind());
  await untilDone(() => accounting.catchUp(), 'charges that the ledger may lack cannot be made again yet', log);
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
    spool,
    openHolds: () => holds.live().filter(({ owedNanoUsd }) => owedNanoUsd === undefined).length,
    close: async () => {
      holds.close();
      claims.close();
      await accounting.close();
    },
    closeSpool: async () => {
      journal.close();
      recent.close();
      room.close();
      await spool.close();
      lock.release();
    },
  };
}

async function openOwnSpool({ paths, workerIndex, metrics, log }: GatewayContext): Promise<Spool> {
  const folder = paths.spoolDir;
  const spool = await openWorkerSpool({
    folder,
    workerIndex,
    onDamage: tellDamage(log),
    onAdopted: (path, charges) => log.warn({ path, charges }, 'took over the charges that a former process left'),
    onNotAdopted: (path, error) =>
      log.error({ err: error, path }, 'the charges that a former process left cannot be read'),
  });
  metrics.watchSpool({
    pending: spool.pending,
    freeBytes: () => freeBytesAt(folder),
    damagedFiles: () => countDamagedFiles(folder),
  });
  return spool;
}

function tellDamage(log: Log): OnDamage {
  return (path, lines) => log.error({ path, lines }, 'lines of the spool cannot be read: they are kept aside');
}

function keepHolds({ stores, clock, metrics, log }: OpenAccountingOptions, cut: () => void): HoldKeeper {
  return new HoldKeeper({
    limits: stores.limits,
    clock,
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

/**
 * The journal of this process, when that of its predecessor and those of processes that are gone
 * are settled.
 */
async function chargeFormer(
  options: OpenAccountingOptions,
  accounting: Accounting,
  recent: RecentCharges,
): Promise<IntentJournal> {
  const { paths, workerIndex, clock, log } = options;
  const folder = paths.spoolDir;
  const chargeIn = async (path: string): Promise<void> => {
    const { left, damaged } = await readLeftIntents(path);
    if (damaged.length > 0) tellDamage(log)(await keepAside(path, damaged), damaged.length);
    if (left.length > 0) await untilDone(() => accounting.recover(left), 'a crash is not settled yet', log);
  };
  const path = intentsPath(folder, workerIndex);
  await chargeIn(path);
  const journal = openIntentJournal({
    path,
    clock,
    onFailure: (error) => {
      log.error({ err: error }, 'the journal cannot be written: what a crash would cut off now is not charged');
    },
  });
  await eachOrphan(folder, workerIndex, async (index) => {
    await chargeIn(intentsPath(folder, index));
    recent.adopt(index);
    await rm(intentsPath(folder, index), { force: true });
  });
  return journal;
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
