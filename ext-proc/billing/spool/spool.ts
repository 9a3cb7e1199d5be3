import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClaimedSettlement, Settlement } from '../../../database/ledger/ledger.ts';
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
 * Settlements that PostgreSQL could not take yet, in an fsynced file: an answer may end once its
 * charge is durable here (DESIGN invariant 4). One line each (spool-line.ts), which is read again
 * when its turn comes, because it may carry a whole answer; the file is emptied when all of them
 * are in the ledger. Settling is idempotent by generation id, so a line that was settled and not
 * yet removed does no harm.
 */
export interface Spool {
  /**
   * Resolves after the fsync. Rejects when the disk does not take it; then nothing of it is
   * replayed.
   */
  append(settlement: Settlement | ClaimedSettlement): Promise<void>;
  /** In the order in which they came. */
  pending(): readonly SpooledCharge[];
  /**
   * `undefined`: there is none, because it was removed in the meantime, or because the disk does
   * not give it back as it was; then what is left of it is kept aside. Rejects when the disk does
   * not answer.
   */
  read(generationId: string): Promise<Settlement | ClaimedSettlement | undefined>;
  /** Resolves when the disk takes and keeps something; nothing of it stays. */
  prove(): Promise<void>;
  /** Forgets one that is in the ledger now. */
  remove(generationId: string): Promise<void>;
  close(): Promise<void>;
}

export interface SpoolOptions {
  readonly onDamage?: OnDamage;
  /** For a disk that is played. */
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
  // The names of file and folder have to survive a crash as well as the content.
  for (const folder of [dirname(path), dirname(dirname(path))]) await syncFolder(folder);
  const lines = createAppendedFile(file);
  let writes: Promise<unknown> = Promise.resolve();
  // One at a time, so that lines never interleave and emptying never loses a line.
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
