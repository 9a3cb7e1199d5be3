import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openSpool, type Spool } from './spool.ts';
import type { OnDamage } from './spool-lines.ts';
import { eachOrphan } from './worker-lock.ts';

export interface SpoolFilesOptions {
  readonly folder: string;
  readonly workerIndex: number;
  readonly onDamage: OnDamage;
  readonly onAdopted: (path: string, charges: number) => void;
  /** Called if the file of a former process could not be adopted; the file stays. */
  readonly onNotAdopted: (path: string, error: unknown) => void;
}

/**
 * Opens this worker's spool and adopts the files of workers whose processes are gone. The caller
 * must have the lock of this worker (worker-lock.ts).
 */
export async function openWorkerSpool(options: SpoolFilesOptions): Promise<Spool> {
  const { folder, workerIndex, onDamage, onNotAdopted } = options;
  const spool = await openSpool(spoolPath(folder, workerIndex), { onDamage });
  await eachOrphan(folder, workerIndex, (index) => {
    const path = spoolPath(folder, index);
    return adopt(path, spool, options).catch((error: unknown) => onNotAdopted(path, error));
  });
  return spool;
}

async function adopt(path: string, into: Spool, { onDamage, onAdopted }: SpoolFilesOptions): Promise<void> {
  const orphan = await openSpool(path, { onDamage });
  try {
    const charges = orphan.pending();
    for (const { generationId } of charges) {
      const settlement = await orphan.read(generationId);
      // After a crash at this point both files have the charge, which is made once.
      if (settlement) await into.append(settlement);
    }
    await unlink(path);
    if (charges.length > 0) onAdopted(path, charges.length);
  } finally {
    await orphan.close();
  }
}

/** The spool of a worker. */
export function spoolPath(folder: string, index: number): string {
  return join(folder, `settlements-${index}.jsonl`);
}
