import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#core/clock.ts';
import type { TracingConfig } from '#core/config/tracing.ts';
import { startTraceCollector, type TraceCollector } from '#test/harness/trace-collector.ts';
import { type FinishedTrace, openRequestTracer } from './request-trace.ts';
import { createSpanExporter, type ExportBounds, type SpanExporter } from './span-exporter.ts';
import type { SpanDropReason } from './trace-metrics.ts';

const tracer = openRequestTracer(systemClock, { 'service.name': 'test' });

let collector: TraceCollector;
let target: TracingConfig | undefined;
let exporter: SpanExporter;
let dropped: [SpanDropReason, number][];
let exported: number;
let waiting: () => number;
let said: string[];
beforeEach(async () => {
  collector = await startTraceCollector();
  target = { otlpUrl: collector.url, headers: {}, sampleRatio: 1 };
});
afterEach(async () => {
  await exporter.close(0);
  await collector.close();
});

function open(bounds: Partial<ExportBounds> = {}): void {
  dropped = [];
  exported = 0;
  said = [];
  const say = (_facts: unknown, text?: unknown): void => {
    said.push(String(text));
  };
  exporter = createSpanExporter({
    target: () => target,
    encode: tracer.encode,
    metrics: {
      spansExported: (spans = 0) => {
        exported += spans;
      },
      spansDropped: (reason, spans) => dropped.push([reason, spans]),
      watchSpans: (ask) => {
        waiting = ask;
      },
    },
    log: { info: say, warn: say, error: say },
    bounds: { everyMs: 5, firstRetryMs: 5, longestRetryMs: 20, ...bounds },
  });
}

/** The whole request and two steps: three spans. */
function trace(): FinishedTrace {
  const made = tracer.begin(undefined);
  made.step('one');
  made.step('two');
  return tracer.end(made);
}

it('sends traces of the same time together', async () => {
  open();
  for (let i = 0; i < 4; i++) exporter.add(trace());
  await expect.poll(() => exported).toBe(12);
  expect(collector.headers).toHaveLength(1);
  expect(collector.spans().map(({ name }) => name)).toEqual(Array(4).fill(['request', 'one', 'two']).flat());
  expect(waiting()).toBe(0);
});

it('drops the newest while too many wait for a collector that hangs, and sends the others once it answers', async () => {
  open({ capacity: 7, timeoutMs: 50 });
  collector.answerWith('hang');
  const kept = [trace(), trace()];
  for (const one of kept) exporter.add(one);
  exporter.add(trace());
  expect(dropped).toEqual([['queue_full', 3]]);
  await expect.poll(() => collector.headers.length).toBeGreaterThan(1);
  expect(waiting()).toBe(6);
  collector.answerWith(200);
  await expect.poll(() => exported).toBe(6);
  expect(new Set(collector.spans().map(({ traceId }) => traceId))).toEqual(
    new Set(kept.map(([root]) => root?.spanContext().traceId)),
  );
  expect(said).toEqual([
    'traces cannot be exported: the newest are dropped',
    'traces cannot be exported now: they wait',
    'the collector of traces answers again',
  ]);
});

it('drops what the collector refuses, and says so once', async () => {
  open({ batch: 1 });
  collector.answerWith(401);
  exporter.add(trace());
  exporter.add(trace());
  await expect
    .poll(() => dropped)
    .toEqual([
      ['refused', 3],
      ['refused', 3],
    ]);
  expect(said).toEqual(['the collector refuses traces: they are dropped']);
  collector.answerWith(200);
  exporter.add(trace());
  await expect.poll(() => exported).toBe(3);
});

it('follows no redirect, which would carry its headers elsewhere', async () => {
  open();
  collector.answerWith(307);
  exporter.add(trace());
  await expect.poll(() => said).toEqual(['traces cannot be exported now: they wait']);
  expect(exported).toBe(0);
});

it('drops waiting spans when tracing is switched off', async () => {
  open();
  target = undefined;
  exporter.add(trace());
  await expect.poll(() => dropped).toEqual([['unsent', 3]]);
  expect(collector.headers).toEqual([]);
});

it('sends waiting spans at its end, and nothing after it', async () => {
  open({ everyMs: 60_000 });
  exporter.add(trace());
  await exporter.close(10_000);
  expect(exported).toBe(3);
  exporter.add(trace());
  expect(dropped).toEqual([['unsent', 3]]);
});

it('ends in time even if the collector hangs', async () => {
  open();
  collector.answerWith('hang');
  exporter.add(trace());
  await expect.poll(() => collector.headers.length).toBe(1);
  const startedMs = performance.now();
  await exporter.close(50);
  expect(performance.now() - startedMs).toBeLessThan(5000);
  expect(dropped).toEqual([['unsent', 3]]);
});
