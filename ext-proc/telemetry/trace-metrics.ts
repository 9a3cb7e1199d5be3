import { Counter, Gauge, type Registry } from 'prom-client';

export interface TraceMetrics {
  spansExported(spans: number): void;
  spansDropped(reason: SpanDropReason, spans: number): void;
  /** Registers the gauge of spans that wait, read at each scrape. */
  watchSpans(waiting: () => number): void;
}

/** `unsent`: the process ended, or tracing was switched off, before they were sent. */
export type SpanDropReason = (typeof REASONS)[number];

const REASONS = ['queue_full', 'refused', 'unsent'] as const;

export function createTraceMetrics(registers: Registry[]): TraceMetrics {
  const exported = new Counter({
    name: 'gateway_trace_spans_exported_total',
    help: 'Spans that the collector accepted.',
    registers,
  });
  const dropped = new Counter({
    name: 'gateway_trace_spans_dropped_total',
    help: 'Lost spans, by reason: queue_full, refused (by the collector), unsent (the process ended, or tracing was switched off).',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of REASONS) dropped.inc({ reason }, 0);
  return {
    spansExported: (spans) => exported.inc(spans),
    spansDropped: (reason, spans) => dropped.inc({ reason }, spans),
    watchSpans(waiting) {
      new Gauge({
        name: 'gateway_trace_spans_waiting',
        help: 'Spans waiting for export.',
        registers,
        collect() {
          this.set(waiting());
        },
      });
    },
  };
}
