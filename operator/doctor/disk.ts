import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuntimePaths } from '#core/config/runtime-paths.ts';
import { countOf } from '#core/count-of.ts';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { isWorkerAlive, workersIn } from '#ext-proc/billing/charge-log/worker-lock.ts';
import { type Finding, ok, problem, skipped, warning } from './check.ts';

const GIB = 1024 ** 3;
/** Below this the charge log may refuse a charge, and the embedded database stops. */
const SCARCE_BYTES = GIB / 4;
const LOW_BYTES = GIB;
const LOW_SHARE = 0.1;

/**
 * Checks the disks of data that grows: the charge log and the embedded database. A pod has a volume
 * for its log, and keeps the rest of its data folder in memory.
 */
export async function lookAtDisk({ dataDir, chargeLogDir, postgresDir }: DataPaths): Promise<readonly Finding[]> {
  const space = new Map<number, Finding>();
  for (const folder of [chargeLogDir, postgresDir]) {
    const found = await stat(folder).catch(() => undefined);
    if (found !== undefined && !space.has(found.dev)) space.set(found.dev, spaceFinding(folder, await statfs(folder)));
  }
  if (space.size === 0) return [skipped('disk', `there is no charge log in ${dataDir} on this machine`)];
  const names = await readdir(chargeLogDir).catch(() => []);
  return [...space.values(), await waitingFinding(chargeLogDir), ...damageFindings(chargeLogDir, names)];
}

type DataPaths = Pick<RuntimePaths, 'dataDir' | 'chargeLogDir' | 'postgresDir'>;

type Space = Readonly<Record<'bsize' | 'bavail' | 'blocks' | 'files' | 'ffree', number>>;

function spaceFinding(folder: string, { bsize, bavail, blocks, files, ffree }: Space): Finding {
  const check = 'disk';
  const freeBytes = bavail * bsize;
  const found = `${(freeBytes / GIB).toFixed(1)} GiB of ${((blocks * bsize) / GIB).toFixed(1)} GiB are free at ${folder}`;
  const advice =
    'Free some space, or set GATEWAY_DATA to a larger disk: a charge that cannot be written here while PostgreSQL is unavailable is lost.';
  if (freeBytes < SCARCE_BYTES) return problem(check, found, advice);
  if (freeBytes < LOW_BYTES || bavail < blocks * LOW_SHARE) return warning(check, found, advice);
  // Some file systems report no number of files.
  if (files > 0 && ffree < files * LOW_SHARE)
    return warning(check, `${countOf(ffree, 'more file fits', 'more files fit')} at ${folder}`, advice);
  return ok(check, found);
}

/** Charges in logs without a running process. Running processes report theirs (processes.ts). */
async function waitingFinding(folder: string): Promise<Finding> {
  let charges = 0;
  for (const index of await workersIn(folder).catch(() => new Set<number>()))
    if (!(await isWorkerAlive(folder, index))) charges += (await readWorkerLog(folder, index)).waiting.length;
  if (charges === 0) return ok('charge log', 'no charge of a process that has ended waits');
  const advice = 'A gateway process makes them when PostgreSQL is back: start one. Never delete the files.';
  return problem('charge log', `${countOf(charges, 'charge waits', 'charges wait')} in ${folder}`, advice);
}

/** File names are those of charge-log/damaged-lines.ts. */
function damageFindings(folder: string, names: readonly string[]): readonly Finding[] {
  const files = names.filter((name) => name.includes('.damaged-'));
  if (files.length === 0) return [];
  const found = `lines of the charge log were damaged and are not charged: ${files.map((name) => join(folder, name)).join(', ')}`;
  return [
    problem(
      'charge log',
      found,
      'Check the disk and the files (docs/operating.md), then move the files to another folder.',
    ),
  ];
}
