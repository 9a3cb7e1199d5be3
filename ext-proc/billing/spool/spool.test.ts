import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedSettlement } from '#database/ledger/ledger.ts';
import { settlement } from '../settlement.fixture.ts';
import { openSpool, type Spool } from './spool.ts';

const other = { ...settlement, generationId: 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAW' };

/** Everything that waits, as it is read back. */
const contentOf = (spool: Spool) => Promise.all(spool.pending().map(({ generationId }) => spool.read(generationId)));

describe('the spool', () => {
  let folder = '';
  let path = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw spool '));
    path = join(folder, 'deep', 'settlements.jsonl');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('gives back after a crash what was appended, amounts exact', async () => {
    const before = await openSpool(path);
    await Promise.all([before.append(settlement), before.append(other)]);
    // No close: the process died here.
    const after = await openSpool(path);
    expect(await contentOf(after)).toEqual([settlement, other]);
    expect(await contentOf(before)).toEqual([settlement, other]);
    await Promise.all([before.close(), after.close()]);
  });

  it('is empty on disk once everything is removed, and stays whole until then', async () => {
    const spool = await openSpool(path);
    await spool.append(settlement);
    await spool.append(other);
    await spool.remove(settlement.generationId);
    expect(await readFile(path, 'utf8')).toContain(other.generationId);
    await spool.remove(other.generationId);
    expect(await readFile(path, 'utf8')).toBe('');
    expect(spool.pending()).toEqual([]);
    await spool.close();
  });

  it('leaves nothing behind when it shows that the disk takes something', async () => {
    const spool = await openSpool(path);
    await spool.append(settlement);
    const before = await readFile(path, 'utf8');
    await Promise.all([spool.prove(), spool.append(other), spool.prove()]);
    expect((await readFile(path, 'utf8')).startsWith(before)).toBe(true);
    expect(await contentOf(spool)).toEqual([settlement, other]);
    await spool.close();
    expect((await readFile(path, 'utf8')).match(/\n/g)).toHaveLength(4);
  });

  it('carries a sealed answer of any bytes, and holds none of them in memory', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000 }, (_, i) => i % 256));
    const claim = { keyHash: bytes.subarray(0, 32), bodyHash: bytes.subarray(32, 64), answer: bytes };
    const claimed: ClaimedSettlement = { ...settlement, claim };
    const ended: ClaimedSettlement = { ...other, claim: { keyHash: claim.keyHash, bodyHash: claim.bodyHash } };
    const before = await openSpool(path);
    await before.append(claimed);
    await before.append(ended);
    expect(before.pending()).toEqual([
      { generationId: claimed.generationId, bytes: expect.any(Number), position: 1 },
      { generationId: other.generationId, bytes: expect.any(Number), position: expect.any(Number) },
    ]);
    const after = await openSpool(path);
    for (const spool of [before, after]) expect(await contentOf(spool)).toEqual([claimed, ended]);
    await Promise.all([before.close(), after.close()]);
  });

  it('gives nothing back for what was removed meanwhile', async () => {
    const spool = await openSpool(path);
    await spool.append(settlement);
    await spool.append(other);
    await spool.remove(settlement.generationId);
    expect(await spool.read(settlement.generationId)).toBeUndefined();
    expect(await contentOf(spool)).toEqual([other]);
    await spool.close();
  });

  it('leaves nothing to replay of an append that a full disk refused, and goes on when there is room', async () => {
    // A file may not grow beyond 8 or 16 KiB there, depending on the shell; the large line is
    // refused after its beginning was written.
    const script = `
      const { openSpool } = await import(${JSON.stringify(new URL('./spool.ts', import.meta.url).href)});
      const spool = await openSpool(process.argv[1]);
      const results = [];
      const { settlement } = await import(${JSON.stringify(new URL('../settlement.fixture.ts', import.meta.url).href)});
      for (const [generationId, size] of [['a', 10], ['b', 60_000], ['c', 10]])
        await spool.append({ ...settlement, generationId, upstreamId: 'x'.repeat(size) }).then(() => results.push('kept'), (error) => results.push(error.code));
      process.stdout.write(JSON.stringify({ results, pending: spool.pending().map((one) => one.generationId) }));`;
    const node = `"${process.execPath}" --input-type=module -e "$1" "$2"`;
    const output = execFileSync('sh', ['-c', `trap '' XFSZ; ulimit -f 16; exec ${node}`, 'sh', script, path]);
    expect(JSON.parse(output.toString())).toEqual({ results: ['kept', 'EFBIG', 'kept'], pending: ['a', 'c'] });
    const damage: number[] = [];
    const after = await openSpool(path, { onDamage: (_aside, lines) => void damage.push(lines) });
    expect([after.pending().map(({ generationId }) => generationId), damage]).toEqual([['a', 'c'], []]);
    await after.close();
  });
});
