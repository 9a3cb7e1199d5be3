import { expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { createMetrics } from './metrics.ts';
import { decide, openTracing } from './tracing.ts';

const TRACE = 'a'.repeat(32);

function decideOn(sampleRatio: number, traceparent: string | undefined, isTrusted = false) {
  const header = (name: string) => (name === 'traceparent' ? traceparent : undefined);
  return decide({ header, isTrusted: () => isTrusted }, { otlpUrl: '', headers: {}, sampleRatio });
}

it('traces the share of the requests that is configured, whatever trace id a client chooses', () => {
  const parent = `00-${TRACE}-${'b'.repeat(16)}-01`;
  const traced = Array.from({ length: 4000 }, () => decideOn(0.25, parent)).filter(
    (decision) => decision !== undefined,
  );
  // Six standard deviations.
  expect(Math.abs(traced.length - 1000)).toBeLessThan(165);
  expect(traced.every((decision) => decision.parent?.traceId === TRACE)).toBe(true);
  expect(decideOn(0, undefined)).toBeUndefined();
  expect(decideOn(1, undefined)).toEqual({ parent: undefined });
});

it('leaves the decision to a trusted proxy that has made one', () => {
  expect(decideOn(0, `00-${TRACE}-${'b'.repeat(16)}-01`, true)).toBeDefined();
  expect(decideOn(1, `00-${TRACE}-${'b'.repeat(16)}-00`, true)).toBeUndefined();
  expect(decideOn(1, 'nonsense', true)).toBeDefined();
  expect(decideOn(0, undefined, true)).toBeUndefined();
});

it('traces from the first request on once a reload has prepared it', async () => {
  const config = { otlpUrl: '', headers: {}, sampleRatio: 1 };
  const request = { header: () => undefined, isTrusted: () => false };
  const log = { info() {}, warn() {}, error() {} };
  const off = { target: () => undefined, workerIndex: 0, version: '1', metrics: createMetrics(), log };
  const tracing = await openTracing({ ...off, clock: systemClock });
  await tracing.prepare(undefined);
  expect(tracing.begin(request, config)).toBeUndefined();
  await tracing.prepare(config);
  expect(tracing.begin(request, config)?.traceId).toMatch(/^[0-9a-f]{32}$/);
  await tracing.close(0);
});
