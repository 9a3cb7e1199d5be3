import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import { type AppendableFile, createAppendedFile } from './appended-file.ts';
import { decodeLine, encodeCharge } from './spool-line.ts';
import {
  keepAside,
  type OnDamage,
  type PlacedCharge,
  readBytes,
  readCharges,
  type SpooledCharge,
  syncFolder,
} from './spool-lines.ts';

/**
 * Fsynced file of settlements that PostgreSQL could not take yet: a response may end once its
 * charge is durable here (docs/design.md, "Invariants", 4). One line each (spool-line.ts), which is
 * read again at the replay, because it may contain a whole response. The file is emptied when all
 * are in the ledger. A charge is idempotent by generation id, so a settled line that is not removed
 * yet is harmless.
 */
export interface Spool {
  /**
   * Appends a charge. Resolves after the fsync. Rejects if the disk does not take it; then it is
   * never replayed.
   */
  append(settlement: Settlement | ClaimedSettlement): Promise<void>;
  /** Lists the charges in order of arrival. */
  pending(): readonly SpooledCharge[];
  /**
   * Reads a charge. `undefined`: it was removed meanwhile, or the line is damaged and was moved
   * aside. Rejects if the disk fails.
   */
  read(generationId: string): Promise<Settlement | ClaimedSettlement | undefined>;
  /** Resolves if the disk takes a test line, which is removed again. */
  prove(): Promise<void>;
  /** Removes a charge that is in the ledger now. */
  remove(generationId: string): Promise<void>;
  close(): Promise<void>;
}

export interface SpoolOptions {
  readonly onDamage?: OnDamage;
  /** Replaces the disk in tests. */
  readonly openFile?: (path: string) => Promise<AppendableFile>;
}

/** Opens the file. The caller must have the lock of its worker (worker-lock.ts). */
export async function openSpool(
  path: string,
  { onDamage, openFile = openAppended }: SpoolOptions = {},
): Promise<Spool> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const pending = await readCharges(path, onDamage);
  const file = await openFile(path);
  // Syncs the folders too, so that the names survive a crash.
  for (const folder of [dirname(path), dirname(dirname(path))]) await syncFolder(folder);
  const lines = createAppendedFile(file);
  let writes: Promise<unknown> = Promise.resolve();
  // Serializes writes, so that lines never interleave and emptying never loses a line.
  const queue = <T>(work: () => Promise<T>): Promise<T> => {
    const done = writes.then(work);
    writes = done.catch(() => undefined);
    return done;
  };

  async function read(charge: PlacedCharge): Promise<Settlement | ClaimedSettlement | undefined> {
    const bytes = await readBytes(file, charge);
    const line = decodeLine(bytes.toString('utf8'));
    if (line?.kind === 'charge' && line.settlement.generationId === charge.generationId) return line.settlement;
    onDamage?.(await keepAside(path, [bytes]), 1);
    await remove(charge.generationId);
    return undefined;
  }

  async function remove(generationId: string): Promise<void> {
    pending.delete(generationId);
    if (pending.size === 0) await lines.empty();
  }

  return {
    append: (settlement) =>
      queue(async () => {
        const { generationId } = settlement;
        pending.set(generationId, { generationId, ...(await lines.append(encodeCharge(settlement), generationId)) });
      }),
    pending: () => [...pending.values()],
    read: (generationId) =>
      queue(async () => {
        const charge = pending.get(generationId);
        return charge && read(charge);
      }),
    prove: () => queue(lines.prove),
    remove: (generationId) => queue(() => remove(generationId)),
    close: async () => {
      await writes;
      await file.close();
    },
  };
}

function openAppended(path: string): Promise<AppendableFile> {
  return open(path, 'a+', 0o600);
}
