import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BatchFigures } from '../store-figures.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { type BatchBounds, createBatching, type Outcome } from './batching.ts';

const BOUNDS: BatchBounds = { maxBatch: 100, maxInFlight: 1, paceMs: 0, maxWaiting: 1_000, waitMs: 1_000 };

/** A round trip that ends when the test says so. */
function gatedBatching(bounds: Partial<BatchBounds> = {}) {
  const batches: {
    readonly items: readonly number[];
    readonly sentMs: number;
    end(outcomes?: readonly Outcome<number>[]): void;
    fail(error: unknown): void;
  }[] = [];
  const told: Omit<BatchFigures, 'batch'>[] = [];
  const add = createBatching<number, number>(
    { ...BOUNDS, ...bounds },
    (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome<number>[]>();
      const answers = items.map((item) => ({ ok: true, value: item * 10 }) as const);
      batches.push({ items, sentMs: performance.now(), end: (outcomes = answers) => resolve(outcomes), fail: reject });
      return promise;
    },
    (figures) => told.push(figures),
  );
  return { add, batches, told };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('batching', () => {
  it('tells of every batch: how many shared it, how long the first waited, how long it took, whether all failed', async () => {
    const { add, batches, told } = gatedBatching();
    const first = add(1);
    await expect.poll(() => batches.length).toBe(1);
    const others = [add(2), add(3)];
    await sleep(30);
    batches[0]?.end();
    await first;
    await expect.poll(() => batches.length).toBe(2);
    batches[1]?.end([
      { ok: false, error: new Error('no') },
      { ok: true, value: 30 },
    ]);
    await Promise.allSettled(others);
    const refused = add(4);
    await expect.poll(() => batches.length).toBe(3);
    batches[2]?.end([{ ok: false, error: new Error('no') }]);
    await expect(refused).rejects.toThrow('no');
    const broken = add(5);
    await expect.poll(() => batches.length).toBe(4);
    batches[3]?.fail(new Error('away'));
    await expect(broken).rejects.toThrow('away');
    await turn();
    expect(told.map(({ items, failed }) => [items, failed])).toEqual([
      [1, false],
      [2, false],
      [1, true],
      [1, true],
    ]);
    // A timer may fire a millisecond early by the clock.
    expect(told[0]?.tookMs).toBeGreaterThan(28);
    expect(told[1]?.waitedMs).toBeGreaterThan(28);
    expect(told[0]?.waitedMs).toBeLessThan(20);
  });

  it('sends the calls of one turn together, and what comes meanwhile with the next', async () => {
    const { add, batches } = gatedBatching();
    const first = [add(1), Promise.resolve().then(() => add(2))];
    await turn();
    await turn();
    const second = [add(3), add(4)];
    await turn();
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2]]);
    batches[0]?.end();
    expect(await Promise.all(first)).toEqual([10, 20]);
    await expect
      .poll(() => batches.map(({ items }) => items))
      .toEqual([
        [1, 2],
        [3, 4],
      ]);
    batches[1]?.end();
    expect(await Promise.all(second)).toEqual([30, 40]);
  });

  it('sends no more than a batch holds, and no more batches than may be under way', async () => {
    const { add, batches } = gatedBatching({ maxBatch: 2, maxInFlight: 2 });
    const calls = [1, 2, 3, 4, 5].map((item) => add(item));
    await expect
      .poll(() => batches.map(({ items }) => items))
      .toEqual([
        [1, 2],
        [3, 4],
      ]);
    batches[1]?.end();
    await expect.poll(() => batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
    batches[0]?.end();
    batches[2]?.end();
    expect(await Promise.all(calls)).toEqual([10, 20, 30, 40, 50]);
  });

  it('gives each call its own outcome, and all of them the failure of the round trip', async () => {
    const { add, batches } = gatedBatching();
    const calls = [add(1), add(2)];
    await expect.poll(() => batches.length).toBe(1);
    batches[0]?.end([
      { ok: false, error: new Error('refused') },
      { ok: true, value: 5 },
    ]);
    expect(await Promise.allSettled(calls)).toMatchObject([{ reason: new Error('refused') }, { value: 5 }]);
    const others = [add(3), add(4)];
    await expect.poll(() => batches.length).toBe(2);
    batches[1]?.fail(new StoreUnavailable('away'));
    expect(await Promise.allSettled(others)).toMatchObject([
      { reason: new StoreUnavailable('away') },
      { reason: new StoreUnavailable('away') },
    ]);
    const after = add(6);
    await expect.poll(() => batches.length).toBe(3);
    batches[2]?.end([]);
    await expect(after).rejects.toThrow('a batch answered fewer items than it has');
  });

  it('refuses at once when too many wait, and after a while whoever was not sent', async () => {
    const { add, batches } = gatedBatching({ maxWaiting: 2, waitMs: 40 });
    const sent = add(1);
    await expect.poll(() => batches.length).toBe(1);
    const startedMs = performance.now();
    const waiting = add(2);
    const late = sleep(25).then(() => add(3));
    await expect(waiting).rejects.toBeInstanceOf(StoreUnavailable);
    expect(performance.now() - startedMs).toBeGreaterThan(35);
    const crowd = [add(4)];
    await expect(add(5)).rejects.toThrow('too many calls are waiting');
    batches[0]?.end();
    expect(await sent).toBe(10);
    await expect.poll(() => batches.length).toBe(2);
    // The one that had waited less was still in time.
    expect(batches[1]?.items).toEqual([3, 4]);
    batches[1]?.end();
    expect(await Promise.all([late, ...crowd])).toEqual([30, 40]);
  });

  it('paces batches in a row, and lets a call after a pause go at once', async () => {
    const { add, batches } = gatedBatching({ paceMs: 30 });
    for (const item of [1, 2]) {
      const call = add(item);
      await expect.poll(() => batches.length, { interval: 1 }).toBe(item);
      batches[item - 1]?.end();
      await call;
    }
    expect((batches[1]?.sentMs ?? 0) - (batches[0]?.sentMs ?? 0)).toBeGreaterThan(28);
    await sleep(40);
    const startedMs = performance.now();
    const call = add(3);
    await expect.poll(() => batches.length, { interval: 1 }).toBe(3);
    expect((batches[2]?.sentMs ?? Number.POSITIVE_INFINITY) - startedMs).toBeLessThan(20);
    batches[2]?.end();
    await call;
  });

  it('waits longer after a batch that many shared, and no longer once few come', async () => {
    const { add, batches } = gatedBatching({ crowd: { items: 3, paceMs: 60 } });
    const sendAll = async (items: readonly number[]): Promise<number> => {
      const calls = items.map((item) => add(item));
      const number = batches.length;
      await expect.poll(() => batches.length, { interval: 1 }).toBe(number + 1);
      batches[number]?.end();
      await Promise.all(calls);
      return batches[number]?.sentMs ?? Number.NaN;
    };
    const crowdSentMs = await sendAll([1, 2, 3]);
    expect((await sendAll([4])) - crowdSentMs).toBeGreaterThan(58);
    const startedMs = performance.now();
    expect((await sendAll([5])) - startedMs).toBeLessThan(30);
  });
});
