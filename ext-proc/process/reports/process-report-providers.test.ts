import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createProviderLog } from './process-report-providers.ts';

const START_MS = 1_795_000_000_000;
const MINUTE_MS = 60_000;

it('has every configured provider, called or not, and former ones that were called recently', () => {
  const log = createProviderLog();
  log.note([{ provider: 'former', result: 'ok' }], START_MS);
  const health = log.health(['a', 'b'], START_MS + MINUTE_MS);
  expect([...health.keys()]).toEqual(['a', 'b', 'former']);
  expect(health.get('a')).toEqual({ attempts: 0, failures: 0, lastFailure: null });
  expect([...log.health(['a'], START_MS + 6 * MINUTE_MS).keys()]).toEqual(['a']);
});

it('reports the last failure of the provider itself for five minutes', () => {
  const log = createProviderLog();
  const note = (result: string, atMs: number) => log.note([{ provider: 'a', result }], atMs);
  note('connect_failed', START_MS);
  note('status_503', START_MS + 1_000);
  for (const result of ['ok', 'abandoned', 'status_400', 'process_ends']) note(result, START_MS + 2_000);
  expect(log.health([], START_MS + 3_000).get('a')).toEqual({
    attempts: 6,
    failures: 2,
    lastFailure: { result: 'status_503', atMs: START_MS + 1_000 },
  });
  note('ok', START_MS + 4 * MINUTE_MS);
  expect(log.health([], START_MS + 6 * MINUTE_MS).get('a')).toEqual({ attempts: 1, failures: 0, lastFailure: null });
});

it('counts the last five minutes to within a slice of ten seconds, whatever the order of busy and idle times', () => {
  const attempt = fc.record({ afterMs: fc.nat(200_000), fails: fc.boolean() });
  fc.assert(
    fc.property(fc.array(attempt, { maxLength: 60 }), fc.nat(400_000), (attempts, idleMs) => {
      const log = createProviderLog();
      const noted: { atMs: number; fails: boolean }[] = [];
      let nowMs = START_MS;
      for (const { afterMs, fails } of attempts) {
        nowMs += afterMs;
        log.note([{ provider: 'a', result: fails ? 'reset' : 'ok' }], nowMs);
        noted.push({ atMs: nowMs, fails });
      }
      nowMs += idleMs;
      const found = log.health(['a'], nowMs).get('a');
      const since = (ms: number) => noted.filter(({ atMs }) => atMs > nowMs - ms);
      expect(found?.attempts).toBeGreaterThanOrEqual(since(290_000).length);
      expect(found?.attempts).toBeLessThanOrEqual(since(300_000).length);
      expect(found?.failures).toBeGreaterThanOrEqual(since(290_000).filter(({ fails }) => fails).length);
      expect(found?.failures).toBeLessThanOrEqual(since(300_000).filter(({ fails }) => fails).length);
    }),
  );
});

it('does not count what was noted while the clock was ahead', () => {
  const log = createProviderLog();
  for (const provider of ['former', 'a']) log.note([{ provider, result: 'reset' }], START_MS + 600 * MINUTE_MS);
  log.note([{ provider: 'a', result: 'ok' }], START_MS);
  expect([...log.health([], START_MS)]).toEqual([['a', { attempts: 1, failures: 0, lastFailure: null }]]);
});
