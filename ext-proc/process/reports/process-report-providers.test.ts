import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createProviderLog } from './process-report-providers.ts';

const WALL_MS = 1_795_000_000_000;
const MINUTE_MS = 60_000;

/** A log, and its time since the start. */
function logAt(startMs: number) {
  const at = { ms: startMs, wallMs: WALL_MS };
  return { at, log: createProviderLog({ monotonicMs: () => at.ms, nowMs: () => at.wallMs + at.ms }) };
}

it('has every configured provider, called or not, and former ones that were called recently', () => {
  const { at, log } = logAt(0);
  log.note([{ provider: 'former', result: 'ok' }]);
  at.ms = MINUTE_MS;
  const health = log.health(['a', 'b']);
  expect([...health.keys()]).toEqual(['a', 'b', 'former']);
  expect(health.get('a')).toEqual({ attempts: 0, failures: 0, lastFailure: null });
  at.ms = 6 * MINUTE_MS;
  expect([...log.health(['a']).keys()]).toEqual(['a']);
});

it('reports the last failure of the provider itself for five minutes', () => {
  const { at, log } = logAt(0);
  const note = (result: string, atMs: number) => {
    at.ms = atMs;
    log.note([{ provider: 'a', result }]);
  };
  note('connect_failed', 0);
  note('status_503', 1_000);
  for (const result of ['ok', 'abandoned', 'status_400', 'process_ends']) note(result, 2_000);
  expect(log.health([]).get('a')).toEqual({
    attempts: 6,
    failures: 2,
    lastFailure: { result: 'status_503', atMs: WALL_MS + 1_000 },
  });
  note('ok', 4 * MINUTE_MS);
  at.ms = 6 * MINUTE_MS;
  expect(log.health([]).get('a')).toEqual({ attempts: 1, failures: 0, lastFailure: null });
});

it('counts the last five minutes to within a slice of ten seconds, whatever the order of busy and idle times', () => {
  const attempt = fc.record({ afterMs: fc.nat(200_000), fails: fc.boolean() });
  fc.assert(
    fc.property(fc.nat(400_000), fc.array(attempt, { maxLength: 60 }), fc.nat(400_000), (startMs, attempts, idleMs) => {
      const { at, log } = logAt(startMs);
      const noted: { atMs: number; fails: boolean }[] = [];
      for (const { afterMs, fails } of attempts) {
        at.ms += afterMs;
        log.note([{ provider: 'a', result: fails ? 'reset' : 'ok' }]);
        noted.push({ atMs: at.ms, fails });
      }
      at.ms += idleMs;
      const found = log.health(['a']).get('a');
      const since = (ms: number) => noted.filter(({ atMs }) => atMs > at.ms - ms);
      expect(found?.attempts).toBeGreaterThanOrEqual(since(290_000).length);
      expect(found?.attempts).toBeLessThanOrEqual(since(300_000).length);
      expect(found?.failures).toBeGreaterThanOrEqual(since(290_000).filter(({ fails }) => fails).length);
      expect(found?.failures).toBeLessThanOrEqual(since(300_000).filter(({ fails }) => fails).length);
    }),
  );
});

it('counts the same when the clock is set back', () => {
  const { at, log } = logAt(0);
  for (const provider of ['former', 'a']) log.note([{ provider, result: 'reset' }]);
  at.ms = 6 * MINUTE_MS;
  at.wallMs -= 600 * MINUTE_MS;
  log.note([{ provider: 'a', result: 'ok' }]);
  expect([...log.health([])]).toEqual([['a', { attempts: 1, failures: 0, lastFailure: null }]]);
});
