import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { countOf } from '#core/count-of.ts';
import { type Finding, ok, problem, skipped, warning } from './check.ts';

const GIB = 1024 ** 3;
/** Below it the spool may refuse a charge, and the embedded database stops. */
const SCARCE_BYTES = GIB / 4;
const LOW_BYTES = GIB;
const LOW_SHARE = 0.1;

/** Checks the disk of the data folder: embedded database, spool, Envoy's files. */
export async function lookAtDisk(dataDir: string): Promise<readonly Finding[]> {
  const check = 'disk';
  const disk = await statfs(dataDir).catch((error: NodeJS.ErrnoException) => error);
  if (disk instanceof Error) {
    return [skipped(check, disk.code === 'ENOENT' ? `there is no ${dataDir} on this machine` : disk.message)];
  }
  const folder = join(dataDir, 'spool');
  const names = await readdir(folder).catch(() => []);
  return [spaceFinding(dataDir, disk), await spoolFinding(folder, names), ...damageFindings(folder, names)];
}

type Space = Readonly<Record<'bsize' | 'bavail' | 'blocks' | 'files' | 'ffree', number>>;

function spaceFinding(dataDir: string, { bsize, bavail, blocks, files, ffree }: Space): Finding {
  const check = 'disk';
  const freeBytes = bavail * bsize;
  const found = `${(freeBytes / GIB).toFixed(1)} GiB of ${((blocks * bsize) / GIB).toFixed(1)} GiB are free at ${dataDir}`;
  const advice =
    'Free some space, or set GATEWAY_DATA to a larger disk: a charge that cannot be written here while PostgreSQL is unavailable is lost.';
  if (freeBytes < SCARCE_BYTES) return problem(check, found, advice);
  if (freeBytes < LOW_BYTES || bavail < blocks * LOW_SHARE) return warning(check, found, advice);
  // Some file systems count no files.
  if (files > 0 && ffree < files * LOW_SHARE)
    return warning(check, `${countOf(ffree, 'more file fits', 'more files fit')} at ${dataDir}`, advice);
  return ok(check, found);
}

/** A file of the spool is emptied when all of its charges are in the ledger. */
async function spoolFinding(folder: string, names: readonly string[]): Promise<Finding> {
  const files = names.filter((name) => name.startsWith('settlements-') && name.endsWith('.jsonl'));
  const sizes = await Promise.all(files.map((name) => stat(join(folder, name)).then(({ size }) => size)));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes === 0) return ok('spool', 'no charge waits');
  const advice = 'A gateway process charges them when PostgreSQL is back; start one if none runs. Never delete them.';
  return problem('spool', `${countOf(bytes, 'byte')} of charges wait in ${folder}`, advice);
}

/** As spool/spool-lines.ts names them. */
function damageFindings(folder: string, names: readonly string[]): readonly Finding[] {
  const files = names.filter((name) => name.includes('.damaged-'));
  if (files.length === 0) return [];
  const found = `lines of the spool were damaged and are not charged: ${files.map((name) => join(folder, name)).join(', ')}`;
  return [
    problem('spool', found, 'Check the disk and the files (docs/operating.md), then move the files to another folder.'),
  ];
}
