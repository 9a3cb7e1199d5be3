import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../store-unavailable.ts';
import { type BufferBounds, BufferedWriter, type DropReason } from './buffered-writer.ts';

const BOUNDS: BufferBounds = { capacity: 10, batch: 4, everyMs: 20, firstRetryMs: 5, longestRetryMs: 20 };
const MESSAGES = { failing: 'failing', recovered: 'recovered', full: 'full', lost: 'lost' };

/** A store whose result for each call the test decides, in the order of the calls. */
function scripted(result: (batch: readonly number[], call: number) => Promise<void>) {
  const batches: (readonly number[])[] = [];
  const dropped: [DropReason, number][] = [];
  const logged: string[] = [];
  const log = (_facts: unknown, message?: unknown): void => {
    logged.push(String(message));
  };
  const writer = new BufferedWriter<number>({
    write: (batch) => result(batch, batches.push(batch)),
    bounds: BOUNDS,
    onDropped: (reason, size) => dropped.push([reason, size]),
    log: { info: log, warn: log, error: log },
    messages: MESSAGES,
  });
  const add = (...items: number[]): void => {
    for (const item of items) writer.add(item);
  };
  return { writer, add, batches, dropped, logged };
}

const written = async (): Promise<void> => undefined;
const unavailable = (): Promise<never> => Promise.reject(new StoreUnavailable('unavailable'));

afterEach(() => void vi.useRealTimers());

describe('a buffered writer', () => {
  it('lets items wait for others, and writes a full batch at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { writer, add, batches } = scripted(written);
    add(1, 2, 3);
    await vi.advanceTimersByTimeAsync(BOUNDS.everyMs - 1);
    expect(batches).toEqual([]);
    add(4, 5);
    await vi.advanceTimersByTimeAsync(0);
    expect(batches).toEqual([[1, 2, 3, 4]]);
    await vi.advanceTimersByTimeAsync(BOUNDS.everyMs);
    expect(batches).toEqual([[1, 2, 3, 4], [5]]);
    expect(writer.waiting()).toBe(0);
  });

  it('reports for how long nothing was written while items wait', async () => {
    let result: () => Promise<void> = unavailable;
    const { writer, add } = scripted(() => result());
    expect(writer.stalledMs()).toBe(0);
    add(1, 2);
    await sleep(60);
    add(3);
    expect(writer.stalledMs()).toBeGreaterThan(55);
    result = written;
    await expect.poll(() => writer.waiting()).toBe(0);
    expect(writer.stalledMs()).toBe(0);
  });

  it('retries a batch unchanged until it is settled, whatever is added meanwhile', async () => {
    const { writer, add, batches, logged } = scripted((_, call) => {
      if (call === 1) add(3, 4, 5, 6);
      return call <= 3 ? unavailable() : written();
    });
    add(1, 2);
    await expect.poll(() => writer.waiting()).toBe(0);
    expect(batches.slice(0, 4)).toEqual(Array(4).fill([1, 2]));
    expect(batches.slice(4)).toEqual([[3, 4, 5, 6]]);
    expect(logged).toEqual(['failing', 'recovered']);
  });

  it('drops the newest when it is full, and goes on afterwards', async () => {
    const gate = Promise.withResolvers<void>();
    const { writer, add, batches, dropped, logged } = scripted((_, call) => (call === 1 ? gate.promise : written()));
    const all = Array.from({ length: 12 }, (_, item) => item);
    add(...all);
    expect(writer.waiting()).toBe(10);
    await expect.poll(() => batches.length).toBe(1);
    // Items of the batch in flight count too.
    add(12);
    expect(dropped).toEqual(Array(3).fill(['full', 1]));
    gate.resolve();
    await expect.poll(() => writer.waiting()).toBe(0);
    expect(batches.flat()).toEqual(all.slice(0, 10));
    expect(logged).toEqual(['full']);
    add(13);
    await expect.poll(() => batches.flat().length).toBe(11);
  });
});

describe('the end of a buffered writer', () => {
  it('comes when everything is written, a retry included', async () => {
    const { writer, add, batches, dropped } = scripted((_, call) => (call === 2 ? unavailable() : written()));
    add(1, 2, 3, 4, 5, 6, 7, 8, 9);
    expect(await writer.close(10_000)).toBe(true);
    expect(new Set(batches.flat())).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]));
    add(10);
    expect(dropped).toEqual([['closed', 1]]);
  });

  it.each([
    ['is unavailable', unavailable],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('comes at the deadline when the store %s', async (_, result) => {
    const { writer, add, dropped, logged } = scripted(result);
    add(1, 2, 3, 4, 5, 6);
    expect(await writer.close(50)).toBe(false);
    expect(dropped).toEqual([['unsent', 6]]);
    expect(logged.at(-1)).toBe('lost');
  });

  it('aborts the batch in flight at the deadline', async () => {
    let stopped = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const writer = new BufferedWriter<number>({
      write: (_batch, stop) =>
        new Promise((_settle, reject) => {
          resolve();
          stop.addEventListener('abort', () => {
            stopped = true;
            reject(stop.reason);
          });
        }),
      bounds: BOUNDS,
      onDropped: () => undefined,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      messages: MESSAGES,
    });
    writer.add(1);
    await promise;
    expect(await writer.close(10)).toBe(false);
    expect(stopped).toBe(true);
  });
});
