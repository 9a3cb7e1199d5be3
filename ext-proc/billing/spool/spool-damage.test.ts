import { type FileHandle, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settlement } from '../settlement.fixture.ts';
import type { AppendableFile } from './appended-file.ts';
import { openSpool, type Spool } from './spool.ts';
import { decodeLine } from './spool-line.ts';
import { countDamagedFiles, countDamagedLines, readWhole } from './spool-lines.ts';

/** A line whose text was changed, with the checksum that fits. */
function withChecksum(line: string): string {
  const content = withoutChecksum(line);
  return `${content},"crc32":"${crc32(content).toString(16).padStart(8, '0')}"}`;
}

const withoutChecksum = (line: string) => line.slice(0, -',"crc32":"00000000"}'.length);

const other = { ...settlement, generationId: 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAW' };

describe('a spool that is damaged', () => {
  let folder = '';
  let path = '';
  const damage: [aside: string, lines: number][] = [];
  const open_ = () => openSpool(path, { onDamage: (aside, lines) => void damage.push([aside, lines]) });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw spool '));
    path = join(folder, 'settlements-0.jsonl');
    damage.length = 0;
  });
  afterEach(() => rm(folder, { recursive: true }));

  const idsIn = (spool: Spool) => spool.pending().map(({ generationId }) => generationId);

  async function linesOf(...settlements: (typeof settlement)[]): Promise<string[]> {
    const spool = await openSpool(path);
    for (const one of settlements) await spool.append(one);
    await spool.close();
    return (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  }

  it('charges no line of which any character changed, and every other line', async () => {
    const [line = '', good = ''] = await linesOf(settlement, other);
    expect(decodeLine(line)).toEqual({ kind: 'charge', settlement });
    const changed = Array.from(line, (character, at) => {
      const flipped = String.fromCharCode(character.charCodeAt(0) ^ 1);
      return `${line.slice(0, at)}${flipped}${line.slice(at + 1)}`;
    });
    expect(changed.filter((one) => decodeLine(one) !== undefined)).toEqual([]);
    await writeFile(path, `${line.replace('9007199254740993', '9007199254740992')}\n${good}\n`);
    const spool = await open_();
    expect(idsIn(spool)).toEqual([other.generationId]);
    await spool.close();
  });

  it('is read by others without a change: damaged lines count, one that is being written does not', async () => {
    const [first = '', second = ''] = await linesOf(settlement, other);
    const content = `\n${first}\n\nnull\n\n${second.slice(0, -1)}`;
    await writeFile(path, content);
    expect(await readWhole(path)).toEqual({ generationIds: [settlement.generationId], damagedLines: 1 });
    await writeFile(path, `${content}}`);
    const both = { generationIds: [settlement.generationId, other.generationId], damagedLines: 1 };
    expect(await readWhole(path)).toEqual(both);
    expect(await readFile(path, 'utf8')).toBe(`${content}}`);
    expect(await countDamagedLines(folder)).toBe(0);
    await (await open_()).close();
    expect(await readWhole(path)).toEqual({ ...both, damagedLines: 0 });
    expect(await countDamagedLines(folder)).toBe(1);
  });

  it('starts whatever a line is, keeps it aside once, and is whole afterwards', async () => {
    const [good = ''] = await linesOf(other);
    const bad = [
      'null',
      '[]',
      '1',
      '"text"',
      '{}',
      '{"generationId":"gen-1"}',
      withChecksum(good.replace('"day":20000', '"day":"20000"')),
      withChecksum(good.replace('"promptTokens":3,', '')),
      withChecksum(good.replace('"usage":{', '"usage":null,"other":{')),
      withChecksum(good.replace('"9007199254740993"', 'null')),
      withChecksum(good.replace('"line":{"version":1', '"line":{"version":2')),
      `${withoutChecksum(good)}}`,
      good.slice(0, -30),
    ];
    await writeFile(path, [...bad, good].join('\n'));
    const spool = await open_();
    expect(idsIn(spool)).toEqual([other.generationId]);
    expect(await spool.read(other.generationId)).toEqual(other);
    expect(damage).toEqual([[expect.stringMatching(/settlements-0\.jsonl\.damaged-[\dTZ.-]+$/), bad.length]]);
    expect((await readFile(damage[0]?.[0] ?? '', 'utf8')).split('\n')).toEqual([...bad, '']);
    expect(await countDamagedFiles(folder)).toBe(1);
    await spool.close();
    const next = await open_();
    expect([idsIn(next), damage.length]).toEqual([[other.generationId], 1]);
    await next.close();
  });

  it('gives nothing back for a charge that was damaged after it was written, and keeps it aside', async () => {
    const spool = await open_();
    await spool.append(settlement);
    await spool.append(other);
    const content = await readFile(path, 'utf8');
    await writeFile(path, content.replace('9007199254740993', '9007199254740992'));
    expect(await spool.read(settlement.generationId)).toBeUndefined();
    expect([idsIn(spool), damage.length]).toEqual([[other.generationId], 1]);
    expect(await readFile(damage[0]?.[0] ?? '', 'utf8')).toContain('"9007199254740992"');
    // Somebody emptied it.
    await writeFile(path, '');
    expect(await spool.read(other.generationId)).toBeUndefined();
    expect([spool.pending(), damage.length]).toEqual([[], 2]);
    await spool.close();
  });

  it.each<[how: string, failing: (keyof AppendableFile)[]]>([
    ['is not synced', ['datasync']],
    ['can neither be synced nor cut off', ['datasync', 'truncate']],
    ['cannot be written, synced or cut off', ['datasync', 'truncate', 'appendFile']],
  ])('charges nothing that was told to be lost: a line that %s', async (_, failing) => {
    const disk = await playedDisk();
    const spool = await openSpool(path, { openFile: async () => disk.file });
    await spool.append(settlement);
    disk.failing = failing;
    await expect(spool.append(other)).rejects.toThrow('EIO');
    await expect(spool.append(other)).rejects.toThrow('EIO');
    await expect(spool.prove()).rejects.toThrow('EIO');
    expect(idsIn(spool)).toEqual([settlement.generationId]);
    disk.failing = [];
    await spool.prove();
    const successor = await open_();
    expect([idsIn(successor), damage]).toEqual([[settlement.generationId], []]);
    await successor.close();
    await spool.append({ ...other, generationId: 'gen-later' });
    expect((await spool.read('gen-later'))?.generationId).toBe('gen-later');
    await spool.close();
  });

  it('revokes at once what it cannot cut off', async () => {
    const disk = await playedDisk();
    const spool = await openSpool(path, { openFile: async () => disk.file });
    disk.failing = ['truncate', 'datasync'];
    disk.failures = 2;
    await expect(spool.append(other)).rejects.toThrow('EIO');
    // The process dies here.
    const successor = await open_();
    expect([idsIn(successor), damage, await readFile(path, 'utf8')]).toEqual([
      [],
      [],
      expect.stringContaining('revoked'),
    ]);
    await Promise.all([spool.close(), successor.close()]);
  });

  /** The real file, of which calls fail after they were done, as those of a disk that dies may. */
  async function playedDisk() {
    const handle = await open(path, 'a+');
    const disk = { failing: [] as (keyof AppendableFile)[], failures: Number.POSITIVE_INFINITY };
    const failAt = (name: keyof AppendableFile): void => {
      if (disk.failing.includes(name) && disk.failures-- > 0) throw new Error('EIO');
    };
    const file: Pick<FileHandle, 'appendFile' | 'datasync' | 'truncate'> = {
      appendFile: (content) => handle.appendFile(content).then(() => failAt('appendFile')),
      datasync: () => handle.datasync().then(() => failAt('datasync')),
      async truncate(size) {
        failAt('truncate');
        await handle.truncate(size);
      },
    };
    return Object.assign(disk, {
      file: {
        ...file,
        stat: () => handle.stat(),
        read: handle.read.bind(handle),
        close: () => handle.close(),
      } as AppendableFile,
    });
  }
});
