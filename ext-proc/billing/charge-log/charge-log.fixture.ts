import type { ClaimedSettlement } from '#database/ledger/ledger.ts';
import { settlement } from '../settlement.fixture.ts';
import { ChargeLog, type ChargeLogOptions } from './charge-log.ts';
import { DISK, type Disk } from './segment.ts';

/** What a log has told its owner. */
export interface Told {
  readonly failures: unknown[];
  readonly damage: [aside: string, lines: number][];
  readonly adopted: string[];
}

export function told(): Told {
  return { failures: [], damage: [], adopted: [] };
}

export function openLog(
  folder: string,
  { failures, damage, adopted }: Told = told(),
  options: Partial<ChargeLogOptions> = {},
): Promise<ChargeLog> {
  return ChargeLog.open({
    ...{ folder, workerIndex: 0 },
    clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    onFailure: (error) => void failures.push(error),
    onDamage: (aside, lines) => void damage.push([aside, lines]),
    onAdopted: (index, charges) => void adopted.push(`${index}: ${charges}`),
    onNotAdopted: (index) => void adopted.push(`not ${index}`),
    ...options,
  });
}

export function charge(generationId: string): typeof settlement {
  return { ...settlement, generationId };
}

export function claimed(generationId: string, response: Buffer | undefined): ClaimedSettlement {
  const claim = { keyHash: Buffer.alloc(32, 200), bodyHash: Buffer.alloc(32, 7) };
  return { ...charge(generationId), claim: { ...claim, ...(response ? { response } : {}) } };
}

export function idsIn(log: ChargeLog): string[] {
  return log.waiting().map(({ generationId }) => generationId);
}

/** Everything that waits, as it is read back. */
export function contentOf(log: ChargeLog): Promise<unknown[]> {
  return Promise.all(idsIn(log).map((id) => log.read(id)));
}

/** The real disk, of which calls fail after they were done, as those of a disk that dies may. */
export interface PlayedDisk extends Disk {
  failing: (keyof Disk)[];
  /** How many of these calls fail. */
  failures: number;
  syncs: number;
  writes: number;
}

export function playedDisk(): PlayedDisk {
  const fails = (name: keyof Disk): boolean => played.failing.includes(name) && played.failures-- > 0;
  const failAt = (name: keyof Disk): void => {
    if (fails(name)) throw new Error(`EIO: ${name}`);
  };
  const played: PlayedDisk = {
    ...{ failing: [], failures: Number.POSITIVE_INFINITY, syncs: 0, writes: 0 },
    openSync(path) {
      failAt('openSync');
      return DISK.openSync(path);
    },
    writeSync(descriptor, bytes, offset) {
      played.writes += 1;
      const written = DISK.writeSync(descriptor, bytes, offset);
      failAt('writeSync');
      return written;
    },
    fdatasync(descriptor, done) {
      played.syncs += 1;
      DISK.fdatasync(descriptor, (error) => done(fails('fdatasync') ? new Error('EIO: fdatasync') : error));
    },
    truncateSync(descriptor, bytes) {
      failAt('truncateSync');
      DISK.truncateSync(descriptor, bytes);
    },
  };
  return played;
}
