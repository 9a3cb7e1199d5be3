import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../core/store-unavailable.ts';
import type { RequestLogEntry, RequestLogStore } from '../../database/request-log/request-log.ts';
import { entryWith } from '../../test/fixtures/request-log-entry.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { BatchedLogBounds } from './batched-log.ts';
import { createRequestLog } from './request-log-buffer.ts';

const BOUNDS: BatchedLogBounds = { capacity: 10, batch: 4, everyMs: 20, firstRetryMs: 5, longestRetryMs: 20 };

/** A store whose every answer the test gives, in the order of the calls. */
function scripted(answer: (batch: readonly RequestLogEntry[], call: number) => Promise<{ refused: number }>) {
  const calls: (readonly RequestLogEntry[])[] = [];
  const store: RequestLogStore = {
    write: (batch) => answer(batch, calls.push(batch)),
    keepTidy: () => undefined,
    close: vi.fn(async () => undefined),
  };
  const metrics = createMetrics();
  const log = createRequestLog({ store, metrics, log: pino({ level: 'silent' }), bounds: BOUNDS });
  const metric = async (name: string): Promise<number | undefined> =>
    (await metrics.registry.getSingleMetric(`gateway_request_log_${name}`)?.get())?.values[0]?.value;
  return { log, store, calls, metric };
}

const taken = async (): Promise<{ refused: number }> => ({ refused: 0 });
const away = (): Promise<never> => Promise.reject(new StoreUnavailable('away'));
const lines = (count: number): RequestLogEntry[] => Array.from({ length: count }, () => entryWith());

afterEach(() => void vi.useRealTimers());

describe('a request log', () => {
  it('lets lines wait for company, and writes a full batch at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { log, calls, metric } = scripted(taken);
    const [first, ...others] = lines(5);
    for (const entry of [first, ...others.slice(0, 2)]) if (entry) log.add(entry);
    await vi.advanceTimersByTimeAsync(BOUNDS.everyMs - 1);
    expect(calls).toEqual([]);
    for (const entry of others.slice(2)) log.add(entry);
    await vi.advanceTimersByTimeAsync(0);
    expect(calls.map((batch) => batch.length)).toEqual([4]);
    await vi.advanceTimersByTimeAsync(BOUNDS.everyMs);
    expect(calls).toHaveLength(2);
    expect(calls.flat()).toEqual([first, ...others]);
    expect(log.waiting()).toBe(0);
    expect(await metric('written_total')).toBe(5);
    expect(await metric('dropped_total')).toBe(0);
  });

  it('tells for how long nothing was written while lines wait', async () => {
    let answer = away as () => Promise<{ refused: number }>;
    const { log, metric } = scripted(() => answer());
    expect(await metric('lag_seconds')).toBe(0);
    for (const entry of lines(2)) log.add(entry);
    await sleep(60);
    for (const entry of lines(2)) log.add(entry);
    expect(await metric('lag_seconds')).toBeGreaterThan(0.055);
    answer = taken;
    await expect.poll(() => log.waiting()).toBe(0);
    expect(await metric('lag_seconds')).toBe(0);
  });

  it('never has two batches under way', async () => {
    let open = 0;
    const { log, calls } = scripted(async () => {
      expect(++open).toBe(1);
      await sleep(5);
      open--;
      return { refused: 0 };
    });
    for (const entry of lines(10)) log.add(entry);
    await expect.poll(() => log.waiting()).toBe(0);
    expect(calls.map((batch) => batch.length)).toEqual([4, 4, 2]);
  });

  it('repeats a batch unchanged until it is taken, whatever has come meanwhile', async () => {
    const all = lines(6);
    const { log, calls, metric } = scripted((_, call) => {
      if (call === 1) for (const entry of all.slice(2)) log.add(entry);
      return call <= 3 ? away() : taken();
    });
    for (const entry of all.slice(0, 2)) log.add(entry);
    await expect.poll(() => log.waiting()).toBe(0);
    expect(calls.slice(0, 4)).toEqual(Array(4).fill(all.slice(0, 2)));
    expect(calls.slice(4).flat()).toEqual(all.slice(2));
    expect(await metric('written_total')).toBe(6);
  });

  it('drops the newest when it is full, counts them, and goes on afterwards', async () => {
    const gate = Promise.withResolvers<{ refused: number }>();
    const { log, calls, metric } = scripted((_, call) => (call === 1 ? gate.promise : taken()));
    const all = lines(14);
    for (const entry of all) log.add(entry);
    expect(log.waiting()).toBe(10);
    expect(await metric('waiting')).toBe(10);
    await expect.poll(() => calls.length).toBe(1);
    // Lines under way count too.
    log.add(entryWith());
    expect(log.dropped()).toBe(5);
    gate.resolve({ refused: 0 });
    await expect.poll(() => log.waiting()).toBe(0);
    expect(calls.flat()).toEqual(all.slice(0, 10));
    expect(await metric('dropped_total')).toBe(5);
    log.add(entryWith());
    await expect.poll(() => metric('written_total')).toBe(11);
  });

  it('counts lines that the store refuses among the dropped', async () => {
    const { log, metric } = scripted(async () => ({ refused: 1 }));
    for (const entry of lines(4)) log.add(entry);
    await expect.poll(() => metric('dropped_total')).toBe(1);
    expect(await metric('written_total')).toBe(3);
  });
});

describe('the end of a request log', () => {
  it('comes when everything is written, a retry included', async () => {
    const { log, store, calls } = scripted((_, call) => (call === 2 ? away() : taken()));
    const all = lines(9);
    for (const entry of all) log.add(entry);
    await log.close(1000);
    expect(log.waiting()).toBe(0);
    expect(new Set(calls.flat())).toEqual(new Set(all));
    expect(store.close).toHaveBeenCalledTimes(1);
    log.add(entryWith());
    expect(log.dropped()).toBe(1);
  });

  it.each([
    ['is away', away],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('comes at the deadline when the store %s', async (_, answer) => {
    const { log, metric } = scripted(answer);
    for (const entry of lines(6)) log.add(entry);
    const beganMs = performance.now();
    await log.close(50);
    expect(performance.now() - beganMs).toBeLessThan(20_000);
    expect(await metric('dropped_total')).toBe(6);
  });
});
