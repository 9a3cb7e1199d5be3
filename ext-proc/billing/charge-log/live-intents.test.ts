import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { flatTable, NO_PRICES, type PriceTable } from '#core/pricing.ts';
import type { OutputSoFar } from '../../hold/delivery-hold.ts';
import { charge, idsIn, openLog, playedDisk, told } from './charge-log.fixture.ts';
import type { ChargeLog } from './charge-log.ts';
import { intent, PRICES, TARGET } from './intent.fixture.ts';
import type { Intent, UnsettledIntent } from './intent.ts';
import { readWorkerLog } from './log-reading.ts';

const USAGE = {
  promptTokens: 7,
  completionTokens: 3,
  cachedTokens: 2,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 1,
};
const ASKED = { ...TARGET, attempt: 1, askedAtMs: 5_000 };

describe('requests in the charge log', () => {
  let folder = '';
  let nowMs = 0;
  let log: ChargeLog;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gw-log-'));
    nowMs = 5_000;
    log = await openLog(folder, told(), { clock });
  });
  afterEach(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });

  const unsettled = async (): Promise<readonly UnsettledIntent[]> => (await readWorkerLog(folder, 0)).unsettled;
  const unsettledIds = async () => (await unsettled()).map(({ generationId }) => generationId);
  const ask = (generationId: string, changes: Partial<Intent> = {}, target = TARGET) => {
    const request = log.open(intent(generationId, changes));
    request.asked(target);
    return request;
  };
  /** Makes the log begin another segment. */
  const rotate = async (): Promise<void> => {
    const before = readdirSync(folder).length;
    nowMs += 61_000;
    ask('gen-rotating').settled();
    await expect.poll(() => readdirSync(folder).length).toBe(before + 1);
  };

  it('are those that were sent to a provider, and neither released nor charged', async () => {
    const claim = { keyHash: Buffer.alloc(32, 200), bodyHash: Buffer.alloc(32, 7) };
    const first = ask('gen-1', { claim, api: 'responses' });
    ask('gen-2').settled();
    log.open(intent('gen-3'));
    const charged = ask('gen-4');
    await log.append(charge('gen-4'));
    charged.settled();
    expect(await unsettled()).toEqual([{ ...intent('gen-1', { claim, api: 'responses' }), asked: ASKED }]);
    first.settled();
    first.settled();
    await expect.poll(unsettled).toEqual([]);
  });

  it('have the whole price table, the asked tier and the sent tier', async () => {
    const above = [{ inputTokens: 100, prices: { ...PRICES, cacheWritePicoUsd: 9n } }];
    const flex = { prices: { ...PRICES, inputPicoUsd: 7n }, above };
    const priceTable: PriceTable = { prices: PRICES, above, serviceTiers: new Map([['flex', flex]]) };
    const changes = { priceTable, askedTier: 'flex', ownTable: priceTable };
    const request = ask('gen-1', changes, { ...TARGET, sentTier: 'flex' } as typeof TARGET);
    await expect.poll(unsettled).toEqual([{ ...intent('gen-1', changes), asked: { ...ASKED, sentTier: 'flex' } }]);
    nowMs = 6_000;
    const costTable = { ...flatTable(PRICES), above: [{ inputTokens: 9, prices: NO_PRICES }] };
    request.asked({ ...TARGET, costTable });
    const again = { ...TARGET, costTable, attempt: 2, askedAtMs: 6_000 };
    await expect.poll(async () => (await unsettled())[0]?.asked).toEqual(again);
    await rotate();
    expect((await unsettled())[0]?.asked).toEqual(again);
  });

  it('follow the output and reported usage of a stream, even into another segment', async () => {
    const request = ask('gen-1');
    let output: OutputSoFar = { tokens: 0, upstreamId: undefined };
    request.delivers(() => output);
    const delivered = async () => (await unsettled())[0]?.delivered;
    await expect.poll(delivered).toEqual({ tokens: 0, firstAtMs: 5_000, lastAtMs: 5_000 });
    output = { tokens: 12, upstreamId: 'up "1"', usage: USAGE, serviceTier: 'flex' };
    nowMs = 6_000;
    const reported = { usage: USAGE, serviceTier: 'flex' };
    const said = { tokens: 12, upstreamId: 'up "1"', reported, firstAtMs: 5_000, lastAtMs: 6_000 };
    await expect.poll(delivered).toEqual(said);
    await rotate();
    expect(await delivered()).toEqual(said);
    output = { tokens: 13, upstreamId: 'up "1"' };
    const ended = { usage: USAGE, usageCounted: false, serviceTier: 'flex' };
    request.outputEnded(ended);
    const all = { ...said, tokens: 13, lastAtMs: nowMs, ended };
    await expect.poll(delivered).toEqual(all);
    await rotate();
    expect(await delivered()).toEqual(all);
  });

  it('do not reappear in a segment that begins while they are charged', async () => {
    const disk = playedDisk();
    const slow = await openLog(folder, told(), { clock, disk });
    const held = Promise.withResolvers<void>();
    const { fdatasync } = disk;
    Object.assign(disk, {
      fdatasync: (...args: Parameters<typeof fdatasync>) => void held.promise.then(() => fdatasync(...args)),
    });
    slow.open(intent('gen-1')).asked(TARGET);
    const charging = slow.append(charge('gen-1'));
    await new Promise(setImmediate);
    nowMs += 61_000;
    slow.open(intent('gen-2')).asked(TARGET);
    await new Promise(setImmediate);
    expect(readdirSync(folder)).toHaveLength(2);
    held.resolve();
    await charging;
    expect(await unsettledIds()).toEqual(['gen-2']);
    await slow.close();
  });

  it('are kept completely, in files of bounded size, however many requests come', async () => {
    const lasting = ask('gen-lasting', { model: 'x'.repeat(400) });
    lasting.delivers(() => ({ tokens: 5, upstreamId: 'up' }));
    const sizes = () => readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    for (let turn = 0; turn < 60; turn++) {
      for (let i = 0; i < 300; i++) ask(`gen-${turn}-${i}`).settled();
      await sleep(0);
    }
    await expect.poll(async () => (await unsettled())[0]?.delivered?.tokens).toBe(5);
    expect(await unsettledIds()).toEqual(['gen-lasting']);
    expect(sizes().length).toBeGreaterThan(1);
    expect(Math.max(...sizes())).toBeLessThan(4_500_000);
  });

  it('and charges are complete whatever clients and providers send', async () => {
    // Characters at which some readers end a line, or that no UTF-8 text has.
    const hostile = fc.constantFrom(...'\u2028\u2029\u0085\v\f\r\n\t\0 {"😀', '\ud800', '\udfff');
    const text = fc.array(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 6 });
    const texts = fc.array(
      text.map((pieces) => pieces.join('')),
      { minLength: 4, maxLength: 4 },
    );
    let number = 0;
    await fc.assert(
      fc.asyncProperty(texts, async ([user = '', upstreamId = '', askedTier = '', serviceTier = '']) => {
        const generationId = `gen-${number++}`;
        const request = ask(generationId, { user, askedTier }, { ...TARGET, sentTier: askedTier } as typeof TARGET);
        request.delivers(() => ({ tokens: 9, upstreamId }));
        const ended = { usage: USAGE, usageCounted: false, serviceTier };
        request.outputEnded(ended);
        const settlement = { ...charge(`${generationId}-charge`), user, upstreamId, serviceTier };
        await log.append(settlement);
        const delivered = { tokens: 9, firstAtMs: 5_000, lastAtMs: 5_000, upstreamId, ended };
        const asked = { ...ASKED, sentTier: askedTier };
        expect(await unsettled()).toEqual([{ ...intent(generationId, { user, askedTier }), asked, delivered }]);
        expect(await log.read(settlement.generationId)).toEqual(settlement);
        log.committed(idsIn(log), 'epoch');
        request.settled();
        await sleep(0);
        expect(await readWorkerLog(folder, 0)).toEqual({ waiting: [], unsettled: [], damagedLines: 0 });
      }),
      { numRuns: 50 },
    );
  });
});
