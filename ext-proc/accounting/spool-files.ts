import { createHash } from 'node:crypto';
import { readdir, realpath, unlink } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSpool, type Spool } from './spool.ts';

/** Each gateway process has a spool file of its own. */
const FILE = /^settlements-(\d+)\.jsonl$/;
const LOCK_TRIES = 100;
const LOCK_RETRY_MS = 100;

export interface SpoolFilesOptions {
  readonly folder: string;
  readonly workerIndex: number;
  /** How many gateway processes the configuration has. */
  readonly workers: number;
  readonly onDamage: (path: string, lines: number) => void;
  readonly onAdopted: (path: string, charges: number) => void;
}

/**
 * Opens this process's spool. The first process also takes over what those left behind that are not configured any more: nobody else would
 * ever replay it. Throws when another process still has the file.
 */
export async function openWorkerSpool(options: SpoolFilesOptions): Promise<Spool> {
  const { folder, workerIndex, onDamage } = options;
  const path = join(folder, `settlements-${workerIndex}.jsonl`);
  const spool = await openSpool(path, (lines) => onDamage(path, lines));
  // The process that had it before may be about to end.
  if ((await lockFile(path, LOCK_TRIES)) === undefined) {
    await spool.close();
    throw new Error(`Another process still writes ${path}.`);
  }
  if (workerIndex === 0) await adoptOrphans(options, spool);
  return spool;
}

async function adoptOrphans({ folder, workers, onDamage, onAdopted }: SpoolFilesOptions, into: Spool): Promise<void> {
  for (const name of await readdir(folder)) {
    const index = FILE.exec(name)?.[1];
    if (index === undefined || Number(index) < workers || index === '0') continue;
    const path = join(folder, name);
    const lock = await lockFile(path, 1);
    // Its process is alive, and takes care of it.
    if (lock === undefined) continue;
    try {
      const orphan = await openSpool(path, (lines) => onDamage(path, lines));
      const charges = orphan.pending();
      for (const { generationId } of charges) {
        const settlement = await orphan.read(generationId);
        // After a crash here both files have it, and it is charged once all the same.
        if (settlement) await into.append(settlement);
      }
      await orphan.close();
      await unlink(path);
      if (charges.length > 0) onAdopted(path, charges.length);
    } finally {
      lock.close();
    }
  }
}

/** A name in Linux's abstract socket space: it is gone with its process, however that ends, and can never be stale. */
async function lockFile(path: string, tries: number): Promise<Server | undefined> {
  const whole = join(await realpath(dirname(path)), basename(path));
  const name = `\0inference-gateway-spool-${createHash('sha256').update(whole).digest('hex')}`;
  for (let tried = 1; ; tried++) {
    const server = await listenOn(name);
    if (server !== undefined || tried >= tries) return server;
    await sleep(LOCK_RETRY_MS);
  }
}

function listenOn(name: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    // It keeps nothing alive by itself.
    server.listen(name, () => resolve(server.unref()));
  });
}
