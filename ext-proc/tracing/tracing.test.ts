import { expect, it } from 'vitest';
import { systemClock } from '../../core/clock.ts';
import type { FinishedTrace } from './request-trace.ts';
import { createTracing } from './tracing.ts';

const TRACE = 'a'.repeat(32);

function begin(sampleRatio: number, traceparent: string | undefined, isTrusted = false) {
  const tracing = createTracing(systemClock, { add: () => undefined });
  const header = (name: string) => (name === 'traceparent' ? traceparent : undefined);
  return tracing.begin({ header, isTrusted: () => isTrusted }, { otlpUrl: '', headers: {}, sampleRatio });
}

it('traces the share of the requests that is configured, whatever trace id a client chooses', () => {
  const parent = `00-${TRACE}-${'b'.repeat(16)}-01`;
  const traced = Array.from({ length: 4000 }, () => begin(0.25, parent)).filter((trace) => trace !== undefined);
  // Six standard deviations.
  expect(Math.abs(traced.length - 1000)).toBeLessThan(165);
  expect(traced.every(({ traceId }) => traceId === TRACE)).toBe(true);
  expect(begin(0, undefined)).toBeUndefined();
  expect(begin(1, undefined)?.traceId).toMatch(/^[0-9a-f]{32}$/);
});

it('leaves it to a trusted proxy, where that has decided', () => {
  expect(begin(0, `00-${TRACE}-${'b'.repeat(16)}-01`, true)).toBeDefined();
  expect(begin(1, `00-${TRACE}-${'b'.repeat(16)}-00`, true)).toBeUndefined();
  expect(begin(1, 'nonsense', true)).toBeDefined();
  expect(begin(0, undefined, true)).toBeUndefined();
});

it('hands on a trace whose every span has ended, the last step with the request', () => {
  const finished: FinishedTrace[] = [];
  const tracing = createTracing(systemClock, { add: (trace) => finished.push(trace) });
  const trace = tracing.begin(
    { header: () => undefined, isTrusted: () => false },
    { otlpUrl: '', headers: {}, sampleRatio: 1 },
  );
  trace?.step('one');
  trace?.step('two');
  trace?.decided('rpm_exceeded');
  if (trace) tracing.end(trace);
  const [{ spans } = { spans: [] }] = finished;
  expect(spans.map(({ name, parentId }) => [name, parentId])).toEqual([
    ['request', undefined],
    ['one', spans[0]?.id],
    ['two', spans[0]?.id],
  ]);
  expect(spans.every(({ endedMs }) => endedMs !== undefined)).toBe(true);
  expect(spans.map(({ attributes }) => attributes.get('error.type'))).toEqual([undefined, undefined, 'rpm_exceeded']);
});

it('keeps no more of a text than 200 characters', () => {
  const span = begin(1, undefined)?.step('x'.repeat(300));
  span?.set('model', 'y'.repeat(300));
  expect(span?.attributes.get('model')).toBe('y'.repeat(200));
});
