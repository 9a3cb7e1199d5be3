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
  /** Called when the file of a former process could not be adopted; the file stays. */
  readonly onNotAdopted: (path: string, error: unknown) => void;
}

/**
 * Opens this process's spool, and takes into it what processes left behind that are gone. To be
 * called with the lock of this index (worker-lock.ts).
 */
export async function openWorkerSpool(options: SpoolFilesOptions): Promise<Spool> {
  const { folder, workerIndex, onDamage, onNotAdopted } = options;
  const spool = await openSpool(pathOf(folder, workerIndex), { onDamage });
  await eachOrphan(folder, workerIndex, (index) => {
    const path = pathOf(folder, index);
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
      // After a crash here both files have it, and it is charged once all the same.
      if (settlement) await into.append(settlement);
    }
    await unlink(path);
    if (charges.length > 0) onAdopted(path, charges.length);
  } finally {
    await orphan.close();
  }
}

/** Each gateway process has a spool file of its own. */
function pathOf(folder: string, index: number): string {
  return join(folder, `settlements-${index}.jsonl`);
}
