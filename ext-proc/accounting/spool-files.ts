import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { openSpool, type Spool } from './spool.ts';
import { eachOrphan } from './worker-lock.ts';

export interface SpoolFilesOptions {
  readonly folder: string;
  readonly workerIndex: number;
  readonly onDamage: (path: string, lines: number) => void;
  readonly onAdopted: (path: string, charges: number) => void;
}

/**
 * Opens this process's spool, and takes into it what processes left behind that are gone. To be called with the lock of this index
 * (worker-lock.ts).
 */
export async function openWorkerSpool({ folder, workerIndex, onDamage, onAdopted }: SpoolFilesOptions): Promise<Spool> {
  const openOf = (path: string): Promise<Spool> => openSpool(path, (lines) => onDamage(path, lines));
  const spool = await openOf(pathOf(folder, workerIndex));
  await eachOrphan(folder, workerIndex, async (index) => {
    const path = pathOf(folder, index);
    const orphan = await openOf(path);
    const charges = orphan.pending();
    for (const { generationId } of charges) {
      const settlement = await orphan.read(generationId);
      // After a crash here both files have it, and it is charged once all the same.
      if (settlement) await spool.append(settlement);
    }
    await orphan.close();
    await unlink(path);
    if (charges.length > 0) onAdopted(path, charges.length);
  });
  return spool;
}

/** Each gateway process has a spool file of its own. */
function pathOf(folder: string, index: number): string {
  return join(folder, `settlements-${index}.jsonl`);
}
