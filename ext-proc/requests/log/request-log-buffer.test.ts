import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { BufferBounds } from '#core/batching/buffered-writer.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { RequestLogRow } from '#database/request-log/request-log-row.ts';
import { rowWith } from '#test/fixtures/request-log-row.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { createRequestLog } from './request-log-buffer.ts';

const BOUNDS: BufferBounds = { capacity: 10, batch: 4, everyMs: 20, firstRetryMs: 5, longestRetryMs: 20 };

/** A store whose result for each call the test decides, in the order of the calls. */
function scripted(result: (batch: readonly RequestLogRow[], call: number) => Promise<number>) {
  const batches: (readonly RequestLogRow[])[] = [];
  const write = (batch: readonly RequestLogRow[]) => result(batch, batches.push(batch));
  const metrics = createMetrics();
  const log = createRequestLog({ write, metrics, log: pino({ level: 'silent' }), bounds: BOUNDS });
  const metric = async (name: string): Promise<number | undefined> =>
    (await metrics.registry.getSingleMetric(`gateway_request_log_${name}`)?.get())?.values[0]?.value;
  return { log, batches, metric };
}

const written = async (): Promise<number> => 0;
const unavailable = (): Promise<never> => Promise.reject(new StoreUnavailable('unavailable'));
const rows = (count: number): RequestLogRow[] => Array.from({ length: count }, () => rowWith());

it('counts rows that are written, that wait, and that are dropped because it is full', async () => {
  const gate = Promise.withResolvers<number>();
  const { log, batches, metric } = scripted((_, call) => (call === 1 ? gate.promise : written()));
  const all = rows(14);
  for (const row of all) log.add(row);
  expect(await metric('waiting')).toBe(10);
  expect(log.dropped()).toBe(4);
  gate.resolve(0);
  await expect.poll(() => log.waiting()).toBe(0);
  expect(batches.flat()).toEqual(all.slice(0, 10));
  expect(await metric('written_total')).toBe(10);
  expect(await metric('dropped_total')).toBe(4);
});

it('counts rows that the store refuses among the dropped', async () => {
  const { log, metric } = scripted(async () => 1);
  for (const row of rows(4)) log.add(row);
  await expect.poll(() => metric('dropped_total')).toBe(1);
  expect(await metric('written_total')).toBe(3);
  expect(log.dropped()).toBe(1);
});

it('reports for how long nothing was written while rows wait', async () => {
  let result: () => Promise<number> = unavailable;
  const { log, metric } = scripted(() => result());
  expect(await metric('lag_seconds')).toBe(0);
  for (const row of rows(2)) log.add(row);
  await sleep(60);
  expect(await metric('lag_seconds')).toBeGreaterThan(0.055);
  result = written;
  await expect.poll(() => log.waiting()).toBe(0);
  expect(await metric('lag_seconds')).toBe(0);
});

it('writes everything that waits when it closes', async () => {
  const { log, batches } = scripted(written);
  const all = rows(9);
  for (const row of all) log.add(row);
  expect(await log.close(10_000)).toBe(true);
  expect(batches.flat()).toEqual(all);
  log.add(rowWith());
  expect(log.dropped()).toBe(1);
});

it('drops what waits at the end when the store is unavailable', async () => {
  const { log, metric } = scripted(unavailable);
  for (const row of rows(6)) log.add(row);
  expect(await log.close(50)).toBe(false);
  expect(await metric('dropped_total')).toBe(6);
});
