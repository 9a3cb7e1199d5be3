import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Settlement } from '#database/ledger/ledger.ts';
import { charge, claimed, contentOf, idsIn, openLog, playedDisk, told } from './charge-log.fixture.ts';
import type { ChargeLog } from './charge-log.ts';
import { intent, TARGET } from './intent.fixture.ts';

const MINUTE_MS = 60_000;

describe('the charge log', () => {
  let folder = '';
  let hears = told();
  let nowMs = 0;
  let wallAheadMs = 0;
  const opened: ChargeLog[] = [];
  const clock = { nowMs: () => nowMs + wallAheadMs, monotonicMs: () => nowMs };
  const segments = () => readdirSync(folder).filter((name) => name.startsWith('log-'));
  const only = () => join(folder, segments()[0] ?? '');
  const open = async (options: Parameters<typeof openLog>[2] = {}): Promise<ChargeLog> => {
    const log = await openLog(folder, hears, { clock, ...options });
    opened.push(log);
    return log;
  };

  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'gw log ')), 'deep');
    hears = told();
    nowMs = Date.now();
    wallAheadMs = 0;
  });
  afterEach(async () => {
    for (const log of opened.splice(0)) await log.close();
    rmSync(join(folder, '..'), { recursive: true });
  });

  async function sent(log: ChargeLog, epoch: string): Promise<Settlement[]> {
    const all: Settlement[] = [];
    await log.sendAgain(epoch, async (group) => void all.push(...group));
    return all;
  }

  it('returns uncommitted charges after a crash, with exact amounts', async () => {
    const before = await open();
    await Promise.all(['a', 'b', 'c'].map((id) => before.append(charge(id))));
    before.committed(['b'], 'epoch');
    await sleep(5);
    // No close: the process died here.
    const after = await open();
    for (const log of [before, after]) expect(await contentOf(log)).toEqual([charge('a'), charge('c')]);
    after.committed(['a', 'c'], undefined);
    await sleep(5);
    expect(idsIn(await open())).toEqual([]);
  });

  it('shares one fdatasync among charges that arrive during another, and one write among those of a turn', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    await log.append(charge('first'));
    Object.assign(disk, { syncs: 0, writes: 0 });
    const inTurn = Array.from({ length: 20 }, (_, at) => log.append(charge(`a${at}`)));
    await new Promise(setImmediate);
    expect([disk.writes, disk.syncs]).toEqual([1, 1]);
    const meanwhile = Array.from({ length: 20 }, (_, at) => log.append(charge(`b${at}`)));
    await Promise.all([...inTurn, ...meanwhile]);
    expect([disk.writes, disk.syncs]).toEqual([2, 2]);
    expect(log.waiting()).toHaveLength(41);
  });

  it('syncs no request that is not charged', async () => {
    const disk = playedDisk();
    const log = await open({ disk });
    const request = log.open(intent('gen-1'));
    request.asked(TARGET);
    await sleep(5);
    request.settled();
    await sleep(5);
    expect([disk.writes, disk.syncs]).toEqual([3, 0]);
  });

  it('logs a stored response of any bytes, and keeps none of them in memory', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000 }, (_, at) => at % 256));
    const before = await open();
    await before.append(claimed('a', bytes));
    await before.append(claimed('b', undefined));
    expect(before.waiting()[0]).toMatchObject({ generationId: 'a', organizationId: 'org-1' });
    const after = await open();
    for (const log of [before, after])
      expect(await contentOf(log)).toEqual([claimed('a', bytes), claimed('b', undefined)]);
  });

  it('replaces a waiting charge by a later one of the same generation', async () => {
    const log = await open();
    await log.append(claimed('a', Buffer.from('answer')));
    await log.append(charge('a'));
    for (const one of [log, await open()]) expect(await contentOf(one)).toEqual([charge('a')]);
  });

  it('makes its files unreadable for other users', async () => {
    await (await open()).append(charge('a'));
    expect([statSync(folder).mode & 0o777, statSync(only()).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it('contains no text of the prompt or the response', async () => {
    await (await open()).append(charge('a'));
    const text = readFileSync(only(), 'utf8');
    expect(Object.keys(JSON.parse(text.slice(text.indexOf('{')))).sort()).toEqual(Object.keys(charge('a')).sort());
  });

  it('returns no charge that was damaged after it was written, and moves its line aside', async () => {
    const log = await open();
    await log.append(charge('a'));
    await log.append(charge('b'));
    writeFileSync(only(), readFileSync(only(), 'utf8').replace('9007199254740993', '9007199254740992'));
    expect(await log.read('a')).toBeUndefined();
    expect([idsIn(log), hears.damage]).toEqual([['b'], [[expect.stringContaining('.damaged-'), 1]]]);
    expect(readFileSync(hears.damage[0]?.[0] ?? '', 'utf8')).toContain('"9007199254740992"');
    // Somebody emptied it.
    writeFileSync(only(), '');
    expect([await log.read('b'), log.waiting(), hears.damage.length]).toEqual([undefined, [], 2]);
  });

  it('starts whatever a line contains, moves it aside once, and returns every other line', async () => {
    const before = await open();
    for (const id of ['a', 'b', 'c']) await before.append(charge(id));
    await before.close();
    const content = readFileSync(only(), 'utf8');
    const bad = ['null', '{}', '00000000', '01234567S{"generationId":"gen-1"}', 'c6ab4a1aZx y'];
    const flipped = content.replace('9007199254740993', '9007199254740992');
    writeFileSync(only(), `\n${bad.join('\n')}\n\n${flipped}01234567S`);
    const log = await open();
    expect([idsIn(log), hears.damage]).toEqual([['b', 'c'], [[expect.stringContaining('.damaged-'), bad.length + 1]]]);
    expect(await contentOf(log)).toEqual([charge('b'), charge('c')]);
    await log.close();
    expect([idsIn(await open()), hears.damage.length]).toEqual([['b', 'c'], 1]);
  });

  it('ignores a line that a crash cut short, and returns one that only lacks its line end', async () => {
    const before = await open();
    await before.append(charge('a'));
    await before.append(charge('b'));
    const size = statSync(only()).size;
    truncateSync(only(), size - 1);
    expect(idsIn(await open())).toEqual(['a', 'b']);
    truncateSync(only(), size - 5);
    expect([idsIn(await open()), hears.damage]).toEqual([['a'], []]);
  });

  describe('keeps the charges of the last minutes', () => {
    it('and sends those that were committed in another epoch, once, complete and without a claim', async () => {
      const log = await open();
      for (const one of [charge('a'), claimed('b', Buffer.from('answer')), charge('c')]) await log.append(one);
      log.committed(['a', 'b'], 'old');
      log.committed(['c'], 'new');
      expect(await sent(log, 'new')).toEqual([charge('a'), charge('b')]);
      expect(await sent(log, 'new')).toEqual([]);
      const after = await open();
      expect([log.lastCommits, after.lastCommits]).toEqual([[], [{ generationId: 'c', epoch: 'new' }]]);
      expect(await sent(after, 'newer')).toEqual([charge('a'), charge('b'), charge('c')]);
      await sleep(5);
      expect(await sent(await open(), 'newer')).toEqual([]);
    });

    it('and sends again what could not be sent', async () => {
      const log = await open();
      const ids = Array.from({ length: 450 }, (_, at) => `gen-${at}`);
      await Promise.all(ids.map((id) => log.append(charge(id))));
      log.committed(ids, 'old');
      let groups = 0;
      const failing = log.sendAgain('new', async () => {
        if (++groups === 2) throw new Error('away');
      });
      await expect(failing).rejects.toThrow('away');
      await sleep(5);
      expect((await sent(log, 'new')).map(({ generationId }) => generationId)).toEqual(ids.slice(200));
    });

    it('and none that will never be charged', async () => {
      const log = await open();
      await log.append(charge('a'));
      log.committed(['a'], undefined);
      expect(await sent(log, 'new')).toEqual([]);
    });

    it('for 15 minutes, and waiting charges for longer', async () => {
      const log = await open();
      await log.append(charge('a'));
      log.committed(['a'], 'epoch');
      const first = only();
      nowMs += 2 * MINUTE_MS;
      wallAheadMs = 60 * MINUTE_MS;
      await log.append(charge('b'));
      await (await open()).close();
      expect(existsSync(first)).toBe(true);
      nowMs += 14 * MINUTE_MS;
      await log.append(charge('c'));
      await expect.poll(() => existsSync(first)).toBe(false);
      nowMs += 60 * MINUTE_MS;
      for (const id of ['d', 'e']) {
        nowMs += 2 * MINUTE_MS;
        await log.append(charge(id));
      }
      expect(await contentOf(log)).toEqual(['b', 'c', 'd', 'e'].map(charge));
      expect(idsIn(await open())).toEqual(['b', 'c', 'd', 'e']);
    });

    it('in at most 64 MiB: the oldest are removed, and stored responses do not count', async () => {
      mkdirSync(folder);
      for (let number = 1; number <= 24; number++)
        writeFileSync(join(folder, `log-0.${number}.jsonl`), `${'x'.repeat(3 * 1024 * 1024)}`);
      const log = await open();
      const answer = Buffer.alloc(3 * 1024 * 1024, 'x');
      for (let at = 0; at < 6; at++) {
        await log.append(claimed(`gen-${at}`, answer));
        log.committed([`gen-${at}`], 'old');
      }
      await log.append(charge('last'));
      nowMs += 2 * MINUTE_MS;
      await log.append(charge('later'));
      const bytes = () => segments().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
      await expect.poll(bytes).toBeLessThan(66 * 1024 * 1024);
      expect(bytes()).toBeGreaterThan(50 * 1024 * 1024);
      expect(segments()).toContain('log-0.24.jsonl');
      expect(await sent(log, 'new')).toHaveLength(6);
    });
  });

  describe('of a process that has ended', () => {
    it('is adopted completely by the next process that starts', async () => {
      const other = await open({ workerIndex: 3 });
      for (const id of ['a', 'b']) await other.append(charge(id));
      other.committed(['b'], 'old');
      other.open(intent('gen-3')).asked(TARGET);
      const own = await open({ workerIndex: 1 });
      own.open(intent('gen-1')).asked(TARGET);
      await own.append(charge('c'));
      const log = await open({ workerIndex: 1 });
      expect(hears.adopted).toEqual(['3: 1']);
      expect(segments().every((name) => name.startsWith('log-1.'))).toBe(true);
      for (const one of [log, await open({ workerIndex: 1 })]) {
        expect(await contentOf(one)).toEqual(expect.arrayContaining([charge('a'), charge('c')]));
        expect(one.waiting()).toHaveLength(2);
        expect(one.unsettled.map(({ generationId }) => generationId).sort()).toEqual(['gen-1', 'gen-3']);
        expect(await sent(one, 'new')).toEqual([charge('b')]);
      }
      log.unsettledEnded();
      await sleep(5);
    });

    it('has its unsettled requests until they are settled, whatever the next process writes', async () => {
      (await open()).open(intent('gen-1')).asked(TARGET);
      await sleep(5);
      const log = await open();
      await log.append(charge('a'));
      const after = await open();
      expect(after.unsettled).toEqual([{ ...intent('gen-1'), asked: { ...TARGET, attempt: 1, askedAtMs: nowMs } }]);
      after.unsettledEnded();
      await sleep(5);
      const last = await open();
      expect([idsIn(last), last.unsettled]).toEqual([['a'], []]);
    });
  });

  it('does not wake a process without requests', async () => {
    const log = await open();
    await log.append(charge('a'));
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    try {
      const request = log.open(intent('gen-1'));
      expect(vi.getTimerCount()).toBe(0);
      request.asked(TARGET);
      vi.advanceTimersByTime(1_000);
      expect(vi.getTimerCount()).toBe(1);
      await log.append(charge('gen-1'));
      vi.advanceTimersByTime(100);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
