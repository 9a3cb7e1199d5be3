import { expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { spansIn } from '#test/harness/trace-collector.ts';
import { openRequestTracer } from './request-trace.ts';
import { readTraceContext } from './trace-context.ts';

const tracer = openRequestTracer(systemClock, { 'service.name': 'test' });
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

it('ends every span with the request, and marks the step in which it was refused', () => {
  const trace = tracer.begin(undefined);
  trace.step('one');
  trace.step('two');
  trace.decided('rpm_exceeded');
  const spans = tracer.end(trace);
  const root = trace.root.id;
  expect(spans.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual([
    ['request', undefined],
    ['one', root],
    ['two', root],
  ]);
  expect(spans.every(({ ended }) => ended)).toBe(true);
  expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, undefined, 'rpm_exceeded']);
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([trace.traceId]));
});

it('keeps the traces of concurrent requests apart', () => {
  const [first, second] = [tracer.begin(undefined), tracer.begin(undefined)];
  first.step('of the first');
  second.step('of the second');
  expect(tracer.end(second).map(({ name }) => name)).toEqual(['request', 'of the second']);
  expect(tracer.end(first).map(({ name }) => name)).toEqual(['request', 'of the first']);
});

it('continues the trace of the sender, and passes its state on', () => {
  const parent = readTraceContext(`00-${TRACE}-${SPAN}-00`, 'vendor=1,other=2');
  const trace = tracer.begin(parent);
  const step = trace.step('call', 'client');
  expect(trace.headersFor(step)).toEqual([
    'traceparent',
    `00-${TRACE}-${step.id}-01`,
    'tracestate',
    'vendor=1,other=2',
  ]);
  const [root, call] = spansIn(Buffer.from(tracer.encode(tracer.end(trace))));
  expect(root).toMatchObject({ traceId: TRACE, parentId: SPAN, state: 'vendor=1,other=2', kind: 2, service: 'test' });
  expect(call).toMatchObject({ traceId: TRACE, parentId: root?.id, kind: 3 });
});

it('accepts attributes until the request ends, and times each step', () => {
  const trace = tracer.begin(undefined);
  const step = trace.step('one');
  step.event('first_event');
  step.end();
  const afterNs = BigInt(Date.now() + 1) * 1_000_000n;
  step.set('late', 7);
  step.set('unknown', undefined);
  step.fail('reset');
  const [root, one] = spansIn(Buffer.from(tracer.encode(tracer.end(trace))));
  expect(one).toMatchObject({ failed: true, events: ['first_event'], attributes: { late: 7, 'error.type': 'reset' } });
  expect(Object.keys(one?.attributes ?? {})).not.toContain('unknown');
  expect(one?.endNs).toBeLessThanOrEqual(afterNs);
  expect(one?.startNs).toBeGreaterThanOrEqual(root?.startNs ?? afterNs);
  expect(root?.endNs).toBeGreaterThanOrEqual(one?.endNs ?? afterNs);
});

it('keeps at most 200 characters of a text', () => {
  const trace = tracer.begin(undefined);
  trace.root.set('model', 'y'.repeat(300));
  trace.root.set('reasons', ['z'.repeat(300)]);
  const [root] = tracer.end(trace);
  expect(root?.attributes).toEqual({ model: 'y'.repeat(200), reasons: ['z'.repeat(200)] });
});
