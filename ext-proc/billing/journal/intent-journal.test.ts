import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { flatTable, NO_PRICES, type PriceTable } from '#core/pricing.ts';
import { intent, PRICES, TARGET } from './intent.fixture.ts';
import type { Output } from './intent.ts';
import { type IntentJournal, openIntentJournal } from './intent-journal.ts';
import { readLeftIntents } from './intent-lines.ts';

const USAGE = {
  promptTokens: 7,
  completionTokens: 3,
  cachedTokens: 2,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 1,
};

describe('the journal of intents', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-journal-'));
  const failures: unknown[] = [];
  let files = 0;
  let path = '';
  let nowMs = 0;
  let journal: IntentJournal;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const open = (): IntentJournal => openIntentJournal({ path, clock, onFailure: (error) => failures.push(error) });

  beforeEach(() => {
    path = join(folder, `intents-${files++}.jsonl`);
    nowMs = 5_000;
    failures.length = 0;
    journal = open();
  });
  afterEach(() => journal.close());
  afterAll(() => rmSync(folder, { recursive: true }));

  const left = async () => (await readLeftIntents(path)).left;
  const idsLeft = async () => (await left()).map(({ generationId }) => generationId);

  it('has what was asked, and not what is settled', async () => {
    const claim = { keyHash: Buffer.alloc(32, 200), bodyHash: Buffer.alloc(32, 7) };
    const [first, second] = [journal.open(intent('gen-1', { claim })), journal.open(intent('gen-2'))];
    journal.open(intent('gen-3'));
    first.asked(TARGET);
    second.asked(TARGET);
    second.settled();
    await expect
      .poll(left)
      .toEqual([{ ...intent('gen-1', { claim }), asked: { ...TARGET, attempt: 1, askedAtMs: 5_000 } }]);
    first.settled();
    first.settled();
    await expect.poll(left).toEqual([]);
  });

  it('does not wake a process without requests', () => {
    vi.useFakeTimers();
    try {
      journal.close();
      journal = open();
      expect(vi.getTimerCount()).toBe(0);
      const request = journal.open(intent('gen-1'));
      request.asked(TARGET);
      vi.advanceTimersByTime(1_000);
      expect(vi.getTimerCount()).toBe(1);
      request.settled();
      vi.advanceTimersByTime(100);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('has the user of a request, whatever its name is', async () => {
    for (const user of ['', 'ada', 'a\tb\nE1 "\u0000', '😀'.repeat(512)]) {
      const request = journal.open(intent('gen-1', { user }));
      request.asked(TARGET);
      await expect.poll(async () => (await left()).map((one) => one.user)).toEqual([user]);
      request.settled();
      await expect.poll(left).toEqual([]);
    }
  });

  it('has the whole price table, and the tier that was asked for', async () => {
    const above = [{ inputTokens: 100, prices: { ...PRICES, cacheWritePicoUsd: 9n } }];
    const flex = { prices: { ...PRICES, inputPicoUsd: 7n }, above };
    const priceTable: PriceTable = { prices: PRICES, above, serviceTiers: new Map([['flex', flex]]) };
    for (const changes of [{ priceTable }, { priceTable, askedTier: 'flex' }, { ownTable: priceTable }]) {
      const request = journal.open(intent('gen-1', changes));
      request.asked(TARGET);
      await expect
        .poll(left)
        .toEqual([{ ...intent('gen-1', changes), asked: { ...TARGET, attempt: 1, askedAtMs: 5_000 } }]);
      request.settled();
      await expect.poll(left).toEqual([]);
    }
  });

  it('has the tier that the target was sent last', async () => {
    const serviceTiers = new Map([['flex', flatTable(PRICES)]]);
    const priceTable = { ...flatTable(PRICES), serviceTiers };
    const request = journal.open(intent('gen-1', { priceTable, askedTier: 'flex' }));
    const tiers = async () => (await left()).map(({ askedTier, asked }) => [askedTier, asked.sentTier]);
    for (const sentTier of ['flex', undefined, 'priority', 'flex']) {
      request.asked({ ...TARGET, sentTier });
      await expect.poll(tiers).toEqual([['flex', sentTier]]);
    }
    journal.open(intent('gen-2', { priceTable })).asked({ ...TARGET, sentTier: 'priority' });
    await expect.poll(tiers).toEqual([
      ['flex', 'flex'],
      [undefined, 'priority'],
    ]);
  });

  it('has the target that was asked last', async () => {
    const request = journal.open(intent('gen-1'));
    request.asked({ provider: 'zero', providerModel: 'm', promptTokens: 5_000 });
    nowMs = 6_000;
    request.asked(TARGET);
    const asked = { ...TARGET, attempt: 2, askedAtMs: 6_000 };
    await expect.poll(async () => (await left())[0]?.asked).toEqual(asked);
  });

  it('has the costs of the target that was asked last, also after a rewrite', async () => {
    const costTable = { ...flatTable(PRICES), above: [{ inputTokens: 9, prices: NO_PRICES }] };
    const lasting = journal.open(intent('gen-lasting'));
    lasting.asked(TARGET);
    lasting.asked({ ...TARGET, costTable });
    const other = journal.open(intent('gen-other'));
    other.asked({ ...TARGET, costTable });
    other.asked(TARGET);
    const costs = async () => (await left()).map(({ asked }) => asked.costTable);
    await expect.poll(costs).toEqual([costTable, undefined]);
    const sizes = () => statSync(path).size;
    const before = sizes();
    let hasShrunk = false;
    for (let turn = 0; !hasShrunk; turn++) {
      const largest = sizes();
      const request = journal.open(intent(`gen-${turn}`, { model: 'x'.repeat(400_000) }));
      request.asked(TARGET);
      request.settled();
      await sleep(0);
      hasShrunk = sizes() < largest;
    }
    expect(sizes()).toBeLessThan(2 * before + 500_000);
    await expect.poll(costs).toEqual([costTable, undefined]);
  });

  it('follows what a stream delivers, and what it is charged at its end', async () => {
    const request = journal.open(intent('gen-1'));
    let output: Output = { tokens: 0, upstreamId: undefined };
    request.asked(TARGET);
    request.delivers(() => output);
    const delivered = async () => (await left())[0]?.delivered;
    await expect.poll(delivered).toEqual({ tokens: 0, firstAtMs: 5_000, lastAtMs: 5_000 });
    output = { tokens: 12, upstreamId: 'up "1"' };
    nowMs = 6_000;
    await expect.poll(delivered).toEqual({ tokens: 12, upstreamId: 'up "1"', firstAtMs: 5_000, lastAtMs: 6_000 });
    output = { tokens: 13, upstreamId: 'up "1"' };
    nowMs = 7_000;
    request.outputEnded({ usage: USAGE, usageCounted: false, serviceTier: 'flex' });
    const ended = { usage: USAGE, usageCounted: false, serviceTier: 'flex' };
    await expect.poll(async () => (await delivered())?.ended).toEqual(ended);
    expect(await delivered()).toEqual({ tokens: 13, upstreamId: 'up "1"', firstAtMs: 5_000, lastAtMs: 7_000, ended });
  });

  it('has the usage that the provider has said so far, also after a rewrite', async () => {
    const request = journal.open(intent('gen-1'));
    let output: Output = { tokens: 0, upstreamId: undefined };
    request.asked(TARGET);
    request.delivers(() => output);
    const reported = async () => (await left())[0]?.delivered?.reported;
    output = { tokens: 1, upstreamId: undefined, usage: USAGE, serviceTier: 'flex' };
    await expect.poll(reported).toEqual({ usage: USAGE, serviceTier: 'flex' });
    const more = { ...USAGE, completionTokens: 9 };
    output = { tokens: 1, upstreamId: undefined, usage: more };
    await expect.poll(reported).toEqual({ usage: more });
    for (let turn = 0; statSync(path).size < 4_000_000 && turn < 100; turn++) {
      journal.open(intent(`gen-${turn}`, { model: 'x'.repeat(400_000) })).asked(TARGET);
      await sleep(0);
    }
    expect(await reported()).toEqual({ usage: more });
  });

  it('is read up to a line that was cut short, and past one that is damaged', async () => {
    for (const id of ['gen-1', 'gen-2', 'gen-3']) {
      journal.open(intent(id)).asked(TARGET);
      await expect.poll(async () => (await left()).length).toBe(Number(id.at(-1)));
    }
    const text = readFileSync(path, 'utf8');
    truncateSync(path, text.length - 5);
    expect(await idsLeft()).toEqual(['gen-1', 'gen-2']);
    expect((await readLeftIntents(path)).damaged).toEqual([]);
    truncateSync(path, 0);
    appendFileSync(path, text.replace('gen-2', 'gen-9'));
    expect(await idsLeft()).toEqual(['gen-1', 'gen-3']);
    expect((await readLeftIntents(path)).damaged.map(String)).toEqual([expect.stringContaining('gen-9')]);
  });

  it('begins anew at each start', async () => {
    journal.open(intent('gen-1')).asked(TARGET);
    await expect.poll(idsLeft).toEqual(['gen-1']);
    journal.close();
    journal = open();
    expect(await idsLeft()).toEqual([]);
  });

  it('keeps what is live, and its size within bounds, however many requests come', async () => {
    const lasting = journal.open(intent('gen-lasting', { model: 'x'.repeat(400) }));
    lasting.asked(TARGET);
    lasting.delivers(() => ({ tokens: 5, upstreamId: 'up' }));
    let largest = 0;
    for (let turn = 0; turn < 100; turn++) {
      for (let i = 0; i < 300; i++) {
        const request = journal.open(intent(`gen-${turn}-${i}`));
        request.asked(TARGET);
        request.settled();
      }
      await sleep(0);
      largest = Math.max(largest, statSync(path).size);
    }
    await expect.poll(async () => (await left())[0]?.delivered?.tokens).toBe(5);
    expect(await idsLeft()).toEqual(['gen-lasting']);
    expect(largest).toBeGreaterThan(4_000_000);
    expect(largest).toBeLessThan(4_500_000);
  });
});
