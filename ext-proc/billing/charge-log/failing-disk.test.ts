import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { charge, claimed, contentOf, idsIn, openLog, playedDisk, told } from './charge-log.fixture.ts';
import type { ChargeLog } from './charge-log.ts';
import { intent, TARGET } from './intent.fixture.ts';
import type { Disk } from './segment.ts';

describe('the charge log on a disk that fails', () => {
  let folder = '';
  let hears = told();
  const opened: ChargeLog[] = [];
  const open = async (options: Parameters<typeof openLog>[2] = {}): Promise<ChargeLog> => {
    const log = await openLog(folder, hears, options);
    opened.push(log);
    return log;
  };

  /** The log tries every second whether the disk works. */
  const retry = () => vi.advanceTimersByTimeAsync(1_000);
  const recover = async (log: ChargeLog): Promise<void> => {
    await retry();
    await expect.poll(() => log.isFailing(), { interval: 1 }).toBe(false);
  };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    folder = join(mkdtempSync(join(tmpdir(), 'gw log ')), 'deep');
    hears = told();
  });
  afterEach(async () => {
    for (const log of opened.splice(0)) await log.close();
    vi.useRealTimers();
    rmSync(join(folder, '..'), { recursive: true });
  });

  it('writes lines whose sync failed to another segment', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    const request = log.open(intent('gen-1'));
    request.asked(TARGET);
    Object.assign(disk, { failing: ['fdatasync'], failures: 1 });
    await log.append(charge('b'));
    await recover(log);
    expect([idsIn(log), hears.failures.length, log.isFailing()]).toEqual([['a', 'b'], 1, false]);
    expect(await contentOf(log)).toEqual([charge('a'), charge('b')]);
    const after = await open();
    expect(await contentOf(after)).toEqual([charge('a'), charge('b')]);
    expect(after.unsettled.map(({ generationId }) => generationId)).toEqual(['gen-1']);
  });

  it('writes very long lines of one turn in several writes, and shorter ones in one', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    const before = disk.writes;
    await Promise.all(['b', 'c', 'd'].map((id) => log.append(charge(id))));
    expect(disk.writes - before).toBe(1);
    const answer = Buffer.alloc(5 * 1024 * 1024, 'x');
    await Promise.all(['e', 'f', 'g'].map((id) => log.append(claimed(id, answer))));
    expect(disk.writes - before).toBeGreaterThanOrEqual(4);
    expect(idsIn(log).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  });

  it.each<[how: string, failing: (keyof Disk)[]]>([
    ['is not synced', ['fdatasync']],
    ['can neither be synced nor cut off', ['fdatasync', 'truncateSync']],
    ['is not written whole', ['writeSync']],
    ['can neither be written nor cut off', ['writeSync', 'truncateSync']],
    ['finds no file', ['openSync', 'fdatasync']],
  ])('never gives back a charge that was reported as not taken: a line that %s', async (_, failing) => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    Object.assign(disk, { failing });
    await expect(log.append(charge('b'))).rejects.toThrow('EIO');
    await expect(log.append(charge('b'))).rejects.toThrow('EIO');
    await retry();
    expect([idsIn(log), log.isFailing(), hears.failures.length]).toEqual([['a'], true, 1]);
    Object.assign(disk, { failing: [] });
    await recover(log);
    expect([idsIn(await open()), hears.damage]).toEqual([['a'], []]);
    await log.append(charge('c'));
    expect(idsIn(await open())).toEqual(['a', 'c']);
  });

  it.each<[how: string, failing: (keyof Disk)[]]>([
    ['is not synced', ['fdatasync']],
    ['is not written whole', ['writeSync']],
    ['finds no file', ['openSync', 'fdatasync']],
  ])('notes a commit again when the disk takes it: a line that %s', async (_, failing) => {
    const disk = playedDisk();
    const log = await open({ disk });
    for (const id of ['a', 'b', 'c']) await log.append(charge(id));
    Object.assign(disk, { failing });
    log.committed(['a'], 'epoch-1');
    await expect(log.append(charge('d'))).rejects.toThrow('EIO');
    log.committed(['b'], 'epoch-1');
    await retry();
    Object.assign(disk, { failing: [] });
    await recover(log);
    expect([idsIn(log), idsIn(await open())]).toEqual([['c'], ['c']]);
  });

  it('notes a commit again in the current segment when an earlier one could not be synced', async () => {
    let nowMs = Date.now();
    const disk = playedDisk();
    const log = await open({ disk, clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } });
    for (const id of ['a', 'b']) await log.append(charge(id));
    const { fdatasync } = disk;
    const syncing = Promise.withResolvers<(error: Error) => void>();
    Object.assign(disk, { fdatasync: (...[, done]: Parameters<typeof fdatasync>) => syncing.resolve(done) });
    log.committed(['a'], 'epoch-1');
    const appended = log.append(charge('c'));
    const fail = await syncing.promise;
    Object.assign(disk, { fdatasync });
    nowMs += 61_000;
    await log.append(charge('d'));
    fail(new Error('EIO'));
    await appended;
    await recover(log);
    const ids = ['b', 'd', 'c'];
    expect([idsIn(log), idsIn(await open())]).toEqual([ids, ids]);
  });

  it('notes a commit again when it is closed, if the disk works by then', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    for (const id of ['a', 'b']) await log.append(charge(id));
    Object.assign(disk, { failing: ['fdatasync'] });
    log.committed(['a'], 'epoch-1');
    await expect(log.append(charge('c'))).rejects.toThrow('EIO');
    Object.assign(disk, { failing: [] });
    await log.close();
    expect(idsIn(await open())).toEqual(['b']);
  });

  it('sends charges of another epoch again as soon as the disk has the note of their commit', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    Object.assign(disk, { failing: ['fdatasync'] });
    log.committed(['a'], 'epoch-1');
    await expect(log.append(charge('b'))).rejects.toThrow('EIO');
    const sent: unknown[] = [];
    const sendAgain = () => log.sendAgain('epoch-2', async (settlements) => void sent.push(...settlements));
    await expect(sendAgain()).rejects.toThrow('EIO');
    Object.assign(disk, { failing: [] });
    expect([await sendAgain(), sent]).toEqual([1, [charge('a')]]);
  });

  it('does not count as working while it has a line that was reported as failed', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    Object.assign(disk, { failing: ['fdatasync'], failures: 2 });
    const { truncateSync } = disk;
    const uncut = Object.assign(disk, { truncateSync: () => expect.unreachable('EIO') });
    await expect(log.append(charge('b'))).rejects.toThrow('EIO');
    await log.append(charge('c'));
    await retry();
    expect(log.isFailing()).toBe(true);
    Object.assign(uncut, { truncateSync });
    await recover(log);
    expect([log.isFailing(), idsIn(await open())]).toEqual([false, ['a', 'c']]);
  });

  it('does not count as working when it fails again while a line is tried', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('a'));
    Object.assign(disk, { failing: ['fdatasync'] });
    await expect(log.append(charge('b'))).rejects.toThrow('EIO');
    Object.assign(disk, { failing: [] });
    const { fdatasync } = disk;
    const syncing = Promise.withResolvers<() => void>();
    Object.assign(disk, {
      fdatasync: (...of: Parameters<typeof fdatasync>) => syncing.resolve(() => fdatasync.apply(disk, of)),
    });
    await retry();
    const sync = await syncing.promise;
    Object.assign(disk, { fdatasync, failing: ['writeSync'] });
    await expect(log.append(charge('c'))).rejects.toThrow('EIO');
    sync();
    await sleep(20);
    expect(log.isFailing()).toBe(true);
    Object.assign(disk, { failing: [] });
    await recover(log);
    expect(idsIn(await open())).toEqual(['a']);
  });

  it('reports the failure once, fails no request, and is complete again when the disk works', async () => {
    const log = await open();
    rmSync(folder, { recursive: true });
    const request = log.open(intent('gen-1'));
    request.asked(TARGET);
    await sleep(5);
    request.settled();
    log.open(intent('gen-2')).asked(TARGET);
    await sleep(5);
    expect([hears.failures.length, log.isFailing()]).toEqual([1, true]);
    mkdirSync(folder);
    await recover(log);
    expect((await open()).unsettled.map(({ generationId }) => generationId)).toEqual(['gen-2']);
    expect(hears.failures).toHaveLength(1);
  });

  it('keeps the request whose charge could not be written', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    log.open(intent('gen-1')).asked(TARGET);
    await sleep(5);
    Object.assign(disk, { failing: ['fdatasync'] });
    await expect(log.append(charge('gen-1'))).rejects.toThrow('EIO');
    Object.assign(disk, { failing: [] });
    await recover(log);
    const after = await open();
    expect([idsIn(after), after.unsettled.map(({ generationId }) => generationId)]).toEqual([[], ['gen-1']]);
  });

  it('accepts appends again when a full disk has room', async () => {
    // A file may not grow beyond 8 or 16 KiB there, depending on the shell; the large line is
    // refused after its beginning was written.
    const script = `
      const { openLog, charge, idsIn } = await import(${JSON.stringify(new URL('./charge-log.fixture.ts', import.meta.url).href)});
      const log = await openLog(process.argv[1]);
      const results = [];
      for (const [id, size] of [['a', 10], ['b', 60_000], ['c', 10]])
        await log.append({ ...charge(id), upstreamId: 'x'.repeat(size) }).then(() => results.push('kept'), (error) => results.push(error.code));
      process.stdout.write(JSON.stringify({ results, waiting: idsIn(log) }));`;
    const node = `"${process.execPath}" --input-type=module -e "$1" "$2"`;
    const output = execFileSync('sh', ['-c', `trap '' XFSZ; ulimit -f 16; exec ${node}`, 'sh', script, folder]);
    expect(JSON.parse(output.toString())).toEqual({ results: ['kept', 'EFBIG', 'kept'], waiting: ['a', 'c'] });
    expect([idsIn(await open()), hears.damage]).toEqual([['a', 'c'], []]);
  });
});
