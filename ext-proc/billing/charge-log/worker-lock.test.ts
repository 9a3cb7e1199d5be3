import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFile } from '#core/lock/file-lock.mjs';
import { requirement } from '#test/harness/requirement.ts';
import { eachOrphan, lockWorker } from './worker-lock.ts';

/**
 * Another process, which takes the lock of one worker, says so, collects its garbage, and then does
 * nothing.
 */
const OWNER = `
  const { lockWorker } = await import(${JSON.stringify(new URL('./worker-lock.ts', import.meta.url).href)});
  const [folder, index] = process.argv.slice(1);
  await lockWorker(folder, Number(index));
  gc();
  process.stdout.write('locked');
  setInterval(gc, 100);`;

/** As in a container of its own: other process ids, other network; the volume is the same. */
const CONTAINER = ['unshare', '--net', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
const missingNamespaces = (): string | undefined =>
  spawnSync(CONTAINER[0] ?? '', [...CONTAINER.slice(1), 'true']).status === 0
    ? undefined
    : 'the right to make namespaces (root)';

describe('the lock of a gateway process', () => {
  let folder = '';
  const owners: ChildProcess[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw locks '));
  });
  afterEach(async () => {
    for (const owner of owners.splice(0)) await end(owner);
    await rm(folder, { recursive: true });
  });

  async function startOwner(index: number, around: readonly string[] = []): Promise<ChildProcess> {
    const node = [process.execPath, '--expose-gc', '--input-type=module', '-e', OWNER, folder, String(index)];
    const [program = '', ...args] = [...around, ...node];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    owners.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  const orphans = async (ownIndex: number): Promise<number[]> => {
    const found: number[] = [];
    await eachOrphan(folder, ownIndex, async (index) => void found.push(index));
    return found.sort();
  };

  it('is awaited, and free as soon as its process is killed', async () => {
    const owner = await startOwner(5);
    let got = false;
    const next = lockWorker(folder, 5).then((lock) => {
      got = true;
      return lock;
    });
    expect(await lockFile(join(folder, 'worker-5.lock'), 1)).toBeUndefined();
    expect(got).toBe(false);
    await end(owner);
    (await next).release();
  });

  it('protects the logs of live processes, and lets the first process adopt the others, whatever is configured', async () => {
    for (const name of [
      'settlements-0.jsonl',
      'settlements-1.jsonl',
      'intents-2.jsonl',
      'settlements-2.jsonl',
      'notes.txt',
    ])
      await writeFile(join(folder, name), '');
    const owner = await startOwner(1);
    expect(await orphans(0)).toEqual([2]);
    await end(owner);
    await eachOrphan(folder, 0, async (index) => {
      // Meanwhile it is locked, and nobody else adopts it.
      expect(await orphans(0)).not.toContain(index);
    });
    expect(await orphans(0)).toEqual([1, 2]);
  });

  it('uses no name that another user of the machine could take first', async () => {
    await writeFile(join(folder, 'settlements-6.jsonl'), '');
    const name = createHash('sha256')
      .update(join(await realpath(folder), 'settlements-6.jsonl'))
      .digest('hex');
    const taker = createServer().listen(`\0inference-gateway-spool-${name}`);
    await once(taker, 'listening');
    expect(await orphans(0)).toEqual([6]);
    (await lockWorker(folder, 6)).release();
    taker.close();
    await once(taker, 'close');
  });

  requirement(missingNamespaces(), () => {
    it('holds between containers that share a volume', async () => {
      await writeFile(join(folder, 'settlements-4.jsonl'), '');
      const owner = await startOwner(4, CONTAINER);
      expect(await orphans(0)).toEqual([]);
      expect(await lockFile(join(folder, 'worker-4.lock'), 0)).toBeUndefined();
      await end(owner);
      (await lockWorker(folder, 4)).release();
      expect(await orphans(0)).toEqual([4]);
    });
  });
});
