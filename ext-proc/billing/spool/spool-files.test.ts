import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settlement } from '../settlement.fixture.ts';
import { openSpool } from './spool.ts';
import { openWorkerSpool } from './spool-files.ts';
import { lockWorker } from './worker-lock.ts';

describe('the spool files of a deployment', () => {
  let folder = '';
  let adopted: string[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw spools '));
    adopted = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  const pathOf = (index: number) => join(folder, `settlements-${index}.jsonl`);

  async function leave(index: number, ...ids: string[]): Promise<void> {
    const spool = await openSpool(pathOf(index));
    for (const generationId of ids) await spool.append({ ...settlement, generationId });
    await spool.close();
  }

  function openAs(workerIndex: number) {
    return openWorkerSpool({
      folder,
      workerIndex,
      onDamage: () => undefined,
      onNotAdopted: (path) => void adopted.push(`not ${path.slice(folder.length + 1)}`),
      onAdopted: (path, charges) => void adopted.push(`${path.slice(folder.length + 1)} ${charges}`),
    });
  }

  it('are taken over by the next process that starts on the volume, but for those whose process is alive', async () => {
    await leave(0, 'own');
    await leave(1, 'alive');
    await leave(2, 'a', 'b');
    await leave(7);
    const alive = await lockWorker(folder, 1);
    const spool = await openAs(0);
    expect(spool.pending().map(({ generationId }) => generationId)).toEqual(['own', 'a', 'b']);
    expect(await spool.read('b')).toEqual({ ...settlement, generationId: 'b' });
    expect([0, 1, 2, 7].map((index) => existsSync(pathOf(index)))).toEqual([true, true, false, false]);
    expect(adopted).toEqual(['settlements-2.jsonl 2']);
    await spool.close();
    alive.release();
    const other = await openAs(3);
    expect(other.pending().map(({ generationId }) => generationId)).toEqual(['own', 'a', 'b', 'alive']);
    await other.close();
  });

  it('are opened also beside one that cannot be read', async () => {
    await leave(0, 'own');
    await mkdir(pathOf(1));
    const spool = await openAs(0);
    expect(spool.pending()).toHaveLength(1);
    expect(adopted).toEqual(['not settlements-1.jsonl']);
    await spool.close();
  });
});
