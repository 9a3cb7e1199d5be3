import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../harness/postgres-server.ts';
import { type Interval, trendOf, whatIsNotFlat } from '../load/soak-figures.ts';
import { REQUEST_KINDS } from '../load/soak-requests.ts';
import { runSoak } from '../load/soak-run.ts';

/**
 * `node test/load/soak.ts --minutes 30` in seconds: long enough for every kind of request and some
 * reloads, too short for a trend.
 */
const INTERVALS = process.env.CI === 'true' ? 4 : 2;
const INTERVAL_MS = 5000;
const REQUESTS_PER_SECOND = 80;
const GROWN_MIB = 400;

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startTestPostgres({ fsync: 'off' });
});

afterAll(() => postgres?.stop());

test('under every kind of load each request has its expected outcome, the ledger agrees, and nothing is held', async () => {
  const { intervals, faults, seen, errorLines } = await runSoak({
    postgresSocketDir: postgres.socketDir,
    postgresPid: postgres.pid,
    intervals: INTERVALS,
    intervalMs: INTERVAL_MS,
    requestsPerSecond: REQUESTS_PER_SECOND,
  });
  expect(faults).toEqual({});
  expect(errorLines).toEqual([]);
  expect(Object.keys(seen).sort()).toEqual(REQUEST_KINDS.map(({ name }) => name).sort());
  expect(intervals).toHaveLength(INTERVALS);
  for (const { usage } of intervals) {
    expect(usage.gatewayRssMiB).toBeGreaterThan(0);
    expect(usage.gatewayRssMiB).toBeLessThan(GROWN_MIB);
    expect(usage.envoyRssMiB).toBeLessThan(GROWN_MIB);
  }
});

describe('the verdict', () => {
  const BOUNDS = { gatewayMiB: 0.6, envoyMiB: 0.3, p50Factor: 1.5 };
  const intervals = (of: (index: number) => { rss?: number; envoy?: number; p50?: number }): Interval[] =>
    Array.from({ length: 30 }, (_, index) => {
      const { rss = 200, envoy = 70, p50 = 5 } = of(index);
      const usage = { gatewayRssMiB: rss, envoyRssMiB: envoy, postgresMiB: 90, heapMiB: 50, holds: 3 };
      return { requests: 6000, p50Ms: p50, p99Ms: 30, usage: { ...usage, gatewayFds: 60, envoyFds: 80 } };
    });
  const verdict = (all: Interval[]) => whatIsNotFlat(trendOf(all), BOUNDS);

  test('is flat for memory that varies, and for growth only at the start', () => {
    expect(verdict(intervals((index) => ({ rss: 200 + (index % 2) * 20 })))).toEqual([]);
    expect(verdict(intervals((index) => ({ rss: index < 25 ? 200 : 240 })))).toEqual([]);
    expect(verdict(intervals((index) => ({ rss: Math.min(250, 100 + 20 * index), p50: index < 10 ? 2 : 5 })))).toEqual(
      [],
    );
  });

  test('reports what grows and what becomes slower', () => {
    expect(verdict(intervals((index) => ({ rss: 200 + index })))).toEqual([
      'the gateway grows by 1.00 MiB in each interval',
    ]);
    expect(verdict(intervals((index) => ({ envoy: 70 + index / 2 })))).toEqual([
      'Envoy grows by 0.50 MiB in each interval',
    ]);
    expect(verdict(intervals((index) => ({ p50: 1 + index })))).toEqual(['the median is 1.63 times slower']);
  });
});
