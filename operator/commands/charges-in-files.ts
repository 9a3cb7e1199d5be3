import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { ledgerEpoch } from '#database/ledger/ledger-epoch.ts';
import { unaccountedAmong } from '#database/ledger/ledger-reads.ts';
import { organizationsById } from '#database/organizations/organization-rows.ts';
import { countDamagedLines } from '#ext-proc/billing/charge-log/damaged-lines.ts';
import { chargesOfOtherEpochs, readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { isWorkerAlive, workersIn } from '#ext-proc/billing/charge-log/worker-lock.ts';
import type { Pool } from '../command-line/database.ts';

/** Counts of charges in the files of a data folder that the database lacks. */
export interface ChargesInFiles {
  /** Charges that PostgreSQL had not accepted when their process ended, or does not accept now. */
  readonly waitingCharges: number;
  /** Requests in the logs of killed processes. */
  readonly openRequests: number;
  /** Charges of the last minutes that were committed before the database went back in time. */
  readonly recentCharges: number;
  readonly damagedLines: number;
}

/** `missing`: there is no data folder. `unreadable`: the reason why it cannot be read. */
export type DataFolder = ChargesInFiles | 'missing' | { readonly unreadable: string };

interface Found {
  readonly waiting: ReadonlySet<string>;
  readonly open: ReadonlySet<string>;
  readonly recent: ReadonlySet<string>;
  readonly damagedLines: number;
}

const ASKED_AT_ONCE = 1_000;
/** A live process commits its charges within a second, and a start takes no longer than this. */
const MADE_MEANWHILE_MS = 3_000;

/**
 * Finds charges that the next process would make. Only reads, so processes may be writing the
 * files. If it finds any, it looks again after a pause and counts those that remain.
 */
export async function lookForCharges(paths: RuntimePaths, pool: Pool): Promise<DataFolder> {
  try {
    const first = await findIn(paths, pool);
    if (first === 'missing') return first;
    if (first.waiting.size + first.open.size + first.recent.size + first.damagedLines === 0) return countsOf(first);
    await sleep(MADE_MEANWHILE_MS);
    const then = await findIn(paths, pool);
    if (then === 'missing') return then;
    return countsOf({
      waiting: both(first.waiting, then.waiting),
      open: both(first.open, then.open),
      recent: both(first.recent, then.recent),
      damagedLines: Math.min(first.damagedLines, then.damagedLines),
    });
  } catch (error) {
    // The command line reports errors of the database.
    if (error instanceof Error && 'syscall' in error && 'path' in error) return { unreadable: error.message };
    throw error;
  }
}

async function findIn({ dataDir, chargeLogDir }: RuntimePaths, pool: Pool): Promise<Found | 'missing'> {
  if (!(await exists(dataDir))) return 'missing';
  if (!(await exists(chargeLogDir))) return { waiting: new Set(), open: new Set(), recent: new Set(), damagedLines: 0 };
  const waiting = new Set<string>();
  const open = new Set<string>();
  const recent = new Set<string>();
  let damagedLines = await countDamagedLines(chargeLogDir);
  for (const index of await workersIn(chargeLogDir)) {
    const { waiting: charges, unsettled: requests, damagedLines: damaged } = await readWorkerLog(chargeLogDir, index);
    damagedLines += damaged;
    for (const id of await missingAmong(charges, pool)) waiting.add(id);
    const requestIds = requests.map(({ generationId }) => generationId);
    const unsettled = (await missingAmong(requestIds, pool)).filter((id) => !waiting.has(id));
    const lacking = await findRecent(chargeLogDir, index, pool);
    // Requests of a live process are in flight, and it repeats charges within a second. The lock is
    // tried only if needed, because a starting process may be about to take it.
    if (unsettled.length + lacking.length === 0 || (await isWorkerAlive(chargeLogDir, index))) continue;
    for (const id of unsettled) open.add(id);
    for (const id of lacking) recent.add(id);
  }
  return { waiting, open, recent, damagedLines };
}

/** Skips organizations that this database never had: nothing is charged there again. */
async function findRecent(folder: string, index: number, pool: Pool): Promise<readonly string[]> {
  const organizations = new Map<string, string>();
  const epoch = await ledgerEpoch(pool);
  for await (const { generationId, organizationId } of chargesOfOtherEpochs(folder, index, epoch))
    organizations.set(generationId, organizationId);
  const lacking = await missingAmong([...organizations.keys()], pool);
  const owners = [...new Set(lacking.map((id) => organizations.get(id) ?? ''))];
  const known = new Set((await organizationsById(pool, owners)).map(({ id }) => id));
  return lacking.filter((id) => known.has(organizations.get(id) ?? ''));
}

async function missingAmong(generationIds: readonly string[], pool: Pool): Promise<readonly string[]> {
  const unaccounted: string[] = [];
  for (let at = 0; at < generationIds.length; at += ASKED_AT_ONCE)
    unaccounted.push(...(await unaccountedAmong(pool, generationIds.slice(at, at + ASKED_AT_ONCE))));
  return unaccounted;
}

/** Unlike that of core, rejects if this process may not look: the folder is unreadable then. */
async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

function both(first: ReadonlySet<string>, then: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...first].filter((id) => then.has(id)));
}

function countsOf({ waiting, open, recent, damagedLines }: Found): ChargesInFiles {
  return { waitingCharges: waiting.size, openRequests: open.size, recentCharges: recent.size, damagedLines };
}
