import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newId } from '#core/ids.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { settlement } from '../settlement.fixture.ts';
import { RecentCharges } from './recent-charges.ts';

const MINUTE_MS = 60_000;

describe('recent charges', () => {
  const failures: unknown[] = [];
  const damage: [aside: string, lines: number][] = [];
  let folder = '';
  let nowMs = 0;
  let recent: RecentCharges;
  const open = (workerIndex = 0): RecentCharges =>
    new RecentCharges({
      folder,
      workerIndex,
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      onFailure: (error) => failures.push(error),
      onDamage: (aside, lines) => damage.push([aside, lines]),
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gw-recent-'));
    nowMs = Date.now();
    failures.length = 0;
    damage.length = 0;
    recent = open();
  });
  afterEach(() => {
    recent.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const charge = (): Settlement => ({ ...settlement, generationId: newId('gen', nowMs) });

  async function sent(epoch: string, from = recent): Promise<Settlement[]> {
    const all: Settlement[] = [];
    await from.sendAgain(epoch, async (group) => void all.push(...group));
    return all;
  }

  it('are sent again where the epoch is another, once, whole and without a claim', async () => {
    const [first, second, third] = [charge(), charge(), charge()];
    const claim = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32), answer: Buffer.from('answer') };
    recent.note(first, 'old');
    recent.note({ ...second, claim } as Settlement, 'old');
    recent.note(third, 'new');
    expect(await sent('new')).toEqual([first, second]);
    expect(await sent('new')).toEqual([]);
    expect(await sent('newer')).toEqual([first, second, third]);
  });

  it('are there after a crash, but for the last tenth of a second, and for what a crash cut short', async () => {
    const first = charge();
    recent.note(first, 'old');
    await expect.poll(() => readdirSync(folder).length).toBe(1);
    appendFileSync(join(folder, readdirSync(folder)[0] ?? ''), '01234567{"generationId":"gen-');
    const successor = open();
    expect(await sent('new', successor)).toEqual([first]);
    expect(damage).toEqual([]);
    successor.close();
  });

  it('are sent past a damaged line, which is kept aside', async () => {
    const [first, second] = [charge(), charge()];
    recent.note(first, 'old');
    await expect.poll(() => readdirSync(folder).length).toBe(1);
    appendFileSync(join(folder, readdirSync(folder)[0] ?? ''), '01234567{"generationId":"gen-1"}\n');
    recent.note(second, 'old');
    expect(await sent('new')).toEqual([first, second]);
    expect(damage).toEqual([[expect.stringMatching(/charges-0\.old\.\d+\.jsonl\.damaged-[\dTZ.-]+$/), 1]]);
    expect(readFileSync(damage[0]?.[0] ?? '', 'utf8')).toBe('01234567{"generationId":"gen-1"}\n');
    expect(await sent('new')).toEqual([]);
  });

  it('are sent again where sending failed', async () => {
    const many = Array.from({ length: 450 }, charge);
    for (const one of many) recent.note(one, 'old');
    let groups = 0;
    const failing = recent.sendAgain('new', async () => {
      if (++groups === 2) throw new Error('away');
    });
    await expect(failing).rejects.toThrow('away');
    expect(await sent('new')).toEqual(many);
  });

  it('are kept for 15 minutes', async () => {
    recent.note(charge(), 'a');
    await expect.poll(() => readdirSync(folder).length).toBe(1);
    const former = readdirSync(folder);
    nowMs += 14 * MINUTE_MS;
    recent.note(charge(), 'b');
    await expect.poll(() => readdirSync(folder).length).toBe(2);
    nowMs += 2 * MINUTE_MS;
    recent.note(charge(), 'c');
    await expect.poll(() => readdirSync(folder)).not.toContain(former[0]);
  });

  it('take 64 MiB at most: the oldest go', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `charges-0.a.${nowMs + i}.jsonl`);
    for (const name of names) writeFileSync(join(folder, name), 'x'.repeat(3 * 1024 * 1024));
    nowMs += 1_000;
    recent.note(charge(), 'b');
    const bytes = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    await expect.poll(bytes).toBeLessThan(64 * 1024 * 1024);
    expect(bytes()).toBeGreaterThan(50 * 1024 * 1024);
    expect(readdirSync(folder)).toContain(names.at(-1));
    expect(readdirSync(folder)).toContain(`charges-0.b.${nowMs}.jsonl`);
  });

  it('of a process that is gone are taken over', async () => {
    const other = open(3);
    const [first, second] = [charge(), charge()];
    other.note(first, 'old');
    recent.note(second, 'old');
    other.close();
    recent.adopt(3);
    const all = await sent('new');
    expect(all.map(({ generationId }) => generationId).sort()).toEqual(
      [first.generationId, second.generationId].sort(),
    );
    expect(readdirSync(folder).every((name) => name.startsWith('charges-0.new.'))).toBe(true);
  });

  it('go on without a disk that takes nothing, and say so once', async () => {
    rmSync(folder, { recursive: true });
    recent.note(charge(), 'a');
    await expect.poll(() => failures.length).toBe(1);
    recent.note(charge(), 'a');
    await expect.poll(() => recent.isBehind()).toBe(true);
    expect(failures).toHaveLength(1);
  });

  it('are not behind for ever when the disk takes them again and no further charge comes', async () => {
    rmSync(folder, { recursive: true });
    recent.note(charge(), 'a');
    await expect.poll(() => recent.isBehind(), { interval: 5 }).toBe(true);
    mkdirSync(folder);
    await expect.poll(() => recent.isBehind()).toBe(false);
  });

  it('do not wake a process that charges nothing', async () => {
    vi.useFakeTimers();
    try {
      recent.close();
      recent = open();
      expect(vi.getTimerCount()).toBe(0);
      recent.note(charge(), 'a');
      vi.advanceTimersByTime(100);
      expect(readdirSync(folder)).toHaveLength(1);
      nowMs += MINUTE_MS + 1;
      vi.advanceTimersByTime(MINUTE_MS + 1);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('have nothing of prompt or answer', async () => {
    recent.note(charge(), 'a');
    await expect.poll(() => readdirSync(folder).length).toBe(1);
    const text = readFileSync(join(folder, readdirSync(folder)[0] ?? ''), 'utf8');
    expect(Object.keys(JSON.parse(text.trim().slice(8))).sort()).toEqual(Object.keys(charge()).sort());
  });
});
