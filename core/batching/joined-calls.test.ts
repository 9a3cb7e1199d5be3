import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../store-unavailable.ts';
import { type BatchFigures, createJoinedCalls, type JoinedCallBounds, type Outcome } from './joined-calls.ts';

const BOUNDS: JoinedCallBounds = { maxBatch: 100, maxInFlight: 1, paceMs: 0, maxWaiting: 1_000, waitMs: 1_000 };

const URGENT = -1;

/** A round trip that ends when the test says so. */
function gatedCalls(bounds: Partial<JoinedCallBounds> = {}) {
  const batches: {
    readonly items: readonly number[];
    end(outcomes?: readonly Outcome<number>[]): void;
    fail(error: unknown): void;
  }[] = [];
  const figures: BatchFigures[] = [];
  const add = createJoinedCalls<number, number>({
    store: 'PostgreSQL',
    bounds: { ...BOUNDS, ...bounds },
    runBatch: (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome<number>[]>();
      const answers = items.map((item) => ({ ok: true, value: item * 10 }) as const);
      batches.push({ items, end: (outcomes = answers) => resolve(outcomes), fail: reject });
      return promise;
    },
    onBatch: (one) => figures.push(one),
    isUrgent: (item) => item === URGENT,
  });
  return { add, batches, figures };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const turn = () => pass(0);

describe('joined calls', () => {
  it('report of every batch how many shared it, how long the first waited, how long it took, and whether all failed', async () => {
    const { add, batches, figures } = gatedCalls();
    const first = add(1);
    await turn();
    expect(batches).toHaveLength(1);
    const others = [add(2), add(3)];
    await pass(30);
    batches[0]?.end();
    await first;
    await turn();
    expect(batches).toHaveLength(2);
    batches[1]?.end([
      { ok: false, error: new Error('no') },
      { ok: true, value: 30 },
    ]);
    await Promise.allSettled(others);
    const refused = add(4);
    await turn();
    expect(batches).toHaveLength(3);
    batches[2]?.end([{ ok: false, error: new Error('no') }]);
    await expect(refused).rejects.toThrow('no');
    const broken = add(5);
    await turn();
    expect(batches).toHaveLength(4);
    batches[3]?.fail(new Error('away'));
    await expect(broken).rejects.toThrow('away');
    await turn();
    expect(figures.map(({ items, failed }) => [items, failed])).toEqual([
      [1, false],
      [2, false],
      [1, true],
      [1, true],
    ]);
    expect([figures[0]?.waitedMs, figures[0]?.tookMs, figures[1]?.waitedMs]).toEqual([0, 30, 30]);
  });

  it('are sent together if they are of one turn, and later ones with the next batch', async () => {
    const { add, batches } = gatedCalls();
    const first = [add(1), Promise.resolve().then(() => add(2))];
    await turn();
    const second = [add(3), add(4)];
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2]]);
    batches[0]?.end();
    expect(await Promise.all(first)).toEqual([10, 20]);
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[1]?.end();
    expect(await Promise.all(second)).toEqual([30, 40]);
  });

  it('are sent before whatever follows an urgent one, together with others', async () => {
    const { add, batches } = gatedCalls();
    void add(1);
    void add(URGENT);
    void add(URGENT);
    await Promise.resolve();
    expect(batches.map(({ items }) => items)).toEqual([[1, URGENT, URGENT]]);
    await turn();
    expect(batches).toHaveLength(1);
  });

  it('are sent beside one batch more than usual with an urgent one, behind those before it', async () => {
    const { add, batches } = gatedCalls();
    const sent = () => batches.map(({ items }) => items);
    void add(1);
    await turn();
    for (const item of [2, URGENT]) void add(item);
    await Promise.resolve();
    expect(sent()).toEqual([[1], [2, URGENT]]);
    for (const item of [3, URGENT]) void add(item);
    await turn();
    expect(sent()).toHaveLength(2);
    batches[0]?.end();
    await turn();
    expect(sent()).toEqual([[1], [2, URGENT], [3, URGENT]]);
    void add(4);
    batches[1]?.end();
    await turn();
    expect(sent()).toHaveLength(3);
    batches[2]?.end();
    await turn();
    expect(sent().at(-1)).toEqual([4]);
  });

  it('are in batches of bounded size, of which a bounded number is in flight', async () => {
    const { add, batches } = gatedCalls({ maxBatch: 2, maxInFlight: 2 });
    const calls = [1, 2, 3, 4, 5].map((item) => add(item));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[1]?.end();
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4], [5]]);
    batches[0]?.end();
    batches[2]?.end();
    expect(await Promise.all(calls)).toEqual([10, 20, 30, 40, 50]);
  });

  it('have their own outcomes, or all the failure of the round trip', async () => {
    const { add, batches } = gatedCalls();
    const calls = [add(1), add(2)];
    await turn();
    expect(batches).toHaveLength(1);
    batches[0]?.end([
      { ok: false, error: new Error('refused') },
      { ok: true, value: 5 },
    ]);
    expect(await Promise.allSettled(calls)).toMatchObject([{ reason: new Error('refused') }, { value: 5 }]);
    const others = [add(3), add(4)];
    await turn();
    expect(batches).toHaveLength(2);
    batches[1]?.fail(new StoreUnavailable('away'));
    expect(await Promise.allSettled(others)).toMatchObject([
      { reason: new StoreUnavailable('away') },
      { reason: new StoreUnavailable('away') },
    ]);
    const after = add(6);
    await turn();
    expect(batches).toHaveLength(3);
    batches[2]?.end([]);
    await expect(after).rejects.toThrow('a batch has fewer outcomes than items');
  });

  it('are refused at once when too many wait', async () => {
    const { add, batches } = gatedCalls({ maxWaiting: 2 });
    const sent = add(1);
    await turn();
    expect(batches).toHaveLength(1);
    const waiting = [add(2), add(3)];
    await expect(add(4)).rejects.toThrow('too many calls are waiting');
    batches[0]?.end();
    await turn();
    expect(batches).toHaveLength(2);
    batches[1]?.end();
    expect(await Promise.all([sent, ...waiting])).toEqual([10, 20, 30]);
  });

  it('are refused when they were not sent for a while, but not those that came later', async () => {
    const { add, batches } = gatedCalls({ waitMs: 40 });
    const sent = add(1);
    await turn();
    const waiting = expect(add(2)).rejects.toThrow('PostgreSQL did not take the call in time');
    await pass(5);
    const late = add(3);
    await pass(35);
    await waiting;
    batches[0]?.end();
    expect(await sent).toBe(10);
    await turn();
    expect(batches[1]?.items).toEqual([3]);
    batches[1]?.end();
    expect(await late).toBe(30);
  });

  it('are paced when they come in a row, and sent at once after a pause', async () => {
    const { add, batches } = gatedCalls({ paceMs: 30 });
    const first = add(1);
    await turn();
    batches[0]?.end();
    await first;
    const second = add(2);
    await pass(29);
    expect(batches).toHaveLength(1);
    await pass(1);
    expect(batches).toHaveLength(2);
    batches[1]?.end();
    await second;
    await pass(40);
    void add(3);
    await turn();
    expect(batches).toHaveLength(3);
  });

  it('wait longer after a larger batch, up to a bound, and no longer once few come', async () => {
    const { add, batches } = gatedCalls({ paceMs: 3, growingPace: { perItemMs: 4, longestPaceMs: 12 } });
    const sendAfter = async (waitMs: number, items: readonly number[]): Promise<void> => {
      const calls = items.map((item) => add(item));
      const before = batches.length;
      if (waitMs > 0) await pass(waitMs - 1);
      expect(batches).toHaveLength(before);
      await pass(waitMs > 0 ? 1 : 0);
      expect(batches).toHaveLength(before + 1);
      batches[before]?.end();
      await Promise.all(calls);
    };
    await sendAfter(0, [1]);
    await sendAfter(3, [1, 2, 3]);
    await sendAfter(11, [1, 2, 3, 4, 5, 6, 7, 8]);
    await sendAfter(12, [1]);
    await sendAfter(3, [1]);
  });

  it.each([
    { everyMs: 5, finallyMs: 3, why: 'fewer than one call in four milliseconds' },
    { everyMs: 2.5, finallyMs: 12, why: 'more than one' },
  ])('settle at $finallyMs ms from batch to batch where $why come', async ({ everyMs, finallyMs }) => {
    const { add, batches } = gatedCalls({ paceMs: 3, growingPace: { perItemMs: 4, longestPaceMs: 12 } });
    const sentMs: number[] = [];
    const calls: Promise<number>[] = Array.from({ length: 10 }, (_, item) => add(item));
    for (let quarter = 0; quarter < 800; quarter++) {
      if (quarter % (everyMs * 4) === 0) calls.push(add(quarter));
      await pass(0.25);
      for (const batch of batches.splice(0)) {
        sentMs.push(quarter / 4);
        batch.end();
      }
    }
    const gapsMs = sentMs.slice(-6).map((ms, i, all) => ms - (all[i - 1] ?? ms));
    expect(gapsMs).toHaveLength(6);
    for (const gapMs of gapsMs.slice(1)) expect(Math.abs(gapMs - finallyMs)).toBeLessThanOrEqual(2.5);
    await Promise.allSettled(calls.slice(0, 10));
  });
});
