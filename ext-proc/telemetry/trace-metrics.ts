import type { MetricSet } from './metric-set.ts';

export type TraceMetrics = ReturnType<typeof createTraceMetrics>;

/** `unsent`: the process ended, or tracing was switched off, before they were sent. */
export type SpanDropReason = (typeof REASONS)[number];

const REASONS = ['queue_full', 'refused', 'unsent'] as const;

export function createTraceMetrics(metrics: MetricSet) {
  const dropped = metrics.counter(
    'gateway_trace_spans_dropped_total',
    'Lost spans, by reason: queue_full, refused (by the collector), unsent (the process ended, or tracing was switched off).',
    { reason: REASONS },
  );
  return {
    spansExported: metrics.count('gateway_trace_spans_exported_total', 'Spans that the collector accepted.'),
    spansDropped: (reason: SpanDropReason, spans: number) => dropped.inc({ reason }, spans),
    watchSpans: (waiting: () => number) =>
      metrics.read('gateway_trace_spans_waiting', 'Spans waiting for export.', waiting),
  };
}
