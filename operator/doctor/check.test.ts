import { afterEach, expect, it, vi } from 'vitest';
import { ok, problem, runChecks } from './check.ts';
import { clockFinding, latencyFinding } from './clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('runs checks in parallel, each with a deadline, and reports them in order', async () => {
  vi.useFakeTimers();
  const running = runChecks([
    { name: 'hangs', withinMs: 100, run: () => new Promise(() => {}) },
    { name: 'fails', withinMs: 100, run: () => Promise.reject(new Error('no such luck')) },
    { name: 'also hangs', withinMs: 100, run: () => new Promise(() => {}) },
    { name: 'works', withinMs: 100, run: async () => [ok('works', 'well'), problem('works', 'not', 'Mend it.')] },
  ]);
  await vi.advanceTimersByTimeAsync(100);
  const findings = await running;
  expect(findings.map(({ check, verdict }) => `${check} ${verdict}`)).toEqual([
    'hangs problem',
    'fails problem',
    'also hangs problem',
    'works ok',
    'works problem',
  ]);
  expect(findings[0]?.found).toBe('not done within 0.1 s');
  expect(findings[1]?.found).toContain('no such luck');
});

it.each([
  [999, 0, 'ok'],
  [-999, 0, 'ok'],
  [1_000, 0, 'warning'],
  [-1_500, 600, 'ok'],
  [-29_000, 0, 'warning'],
  [-30_000, 0, 'problem'],
  [86_400_000, 2_000, 'problem'],
])('a clock %i ms ahead, known to %i ms, is %s', (clockAheadMs, clockUncertaintyMs, verdict) => {
  const finding = clockFinding('clock', { clockAheadMs, clockUncertaintyMs }, 'Redis');
  expect(finding.verdict).toBe(verdict);
  expect(finding.found).toContain(clockAheadMs < 0 ? 'behind' : 'ahead');
  expect(finding.advice === undefined).toBe(verdict === 'ok');
});

it('warns of a latency above the usual', () => {
  expect(latencyFinding('latency', 10, 10, 'Redis').verdict).toBe('ok');
  expect(latencyFinding('latency', 10.1, 10, 'Redis').verdict).toBe('warning');
});
