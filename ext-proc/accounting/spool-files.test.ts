import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settlement } from './settlement.fixture.ts';
import { openSpool } from './spool.ts';
import { openWorkerSpool } from './spool-files.ts';

/** Another process, which opens the spool of one worker, says so, and then does nothing. */
const OWNER = `
  const { openWorkerSpool } = await import(${JSON.stringify(new URL('./spool-files.ts', import.meta.url).href)});
  const [folder, index] = process.argv.slice(1);
  const quiet = () => {};
  await openWorkerSpool({ folder, workerIndex: Number(index), workers: 9, onDamage: quiet, onAdopted: quiet });
  process.stdout.write('open');
  setInterval(quiet, 1000);`;

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

  function openAs(workerIndex: number, workers: number) {
    return openWorkerSpool({
      folder,
      workerIndex,
      workers,
      onDamage: () => undefined,
      onAdopted: (path, charges) => void adopted.push(`${path.slice(folder.length + 1)} ${charges}`),
    });
  }

  async function owner(index: number) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', OWNER, folder, String(index)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  }

  it('are taken over by the first process where no process is configured for them', async () => {
    await leave(0, 'own');
    await leave(1, 'configured');
    await leave(2, 'a', 'b');
    await leave(7);
    const spool = await openAs(0, 2);
    expect(spool.pending().map(({ generationId }) => generationId)).toEqual(['own', 'a', 'b']);
    expect(await spool.read('b')).toEqual({ ...settlement, generationId: 'b' });
    expect([1, 2, 7].map((index) => existsSync(pathOf(index)))).toEqual([true, false, false]);
    expect(adopted).toEqual(['settlements-2.jsonl 2']);
    await spool.close();
  });

  it('are left to the process that is alive, and open to the next one when it is killed', async () => {
    await leave(5, 'held');
    const alive = await owner(5);
    try {
      const first = await openAs(0, 1);
      expect(first.pending()).toEqual([]);
      await first.close();
      const next = openAs(5, 9);
      alive.kill('SIGKILL');
      const spool = await next;
      expect(spool.pending().map(({ generationId }) => generationId)).toEqual(['held']);
      await spool.close();
    } finally {
      alive.kill('SIGKILL');
    }
  });
});
