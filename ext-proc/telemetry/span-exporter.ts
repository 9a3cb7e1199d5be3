import { type BufferBounds, BufferedWriter } from '#core/batching/buffered-writer.ts';
import type { TracingConfig } from '#core/config/tracing.ts';
import type { Log } from '#core/log/log.ts';
import type { FinishedTrace } from './request-trace.ts';
import type { TraceMetrics } from './trace-metrics.ts';

/** Sends finished traces to the operator's collector, in the background. */
export type SpanExporter = ReturnType<typeof createSpanExporter>;

export interface SpanExporterOptions {
  /** The collector as it is configured now. `undefined`: tracing is off. */
  readonly target: () => TracingConfig | undefined;
  readonly encode: (spans: FinishedTrace) => Uint8Array;
  readonly metrics: TraceMetrics;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly bounds?: Partial<ExportBounds>;
}

/** Sizes are in spans, about a kilobyte each. */
export interface ExportBounds extends BufferBounds {
  /** Longest wait for the response of the collector, in ms. */
  readonly timeoutMs: number;
}

const BOUNDS: ExportBounds = {
  capacity: 8192,
  batch: 512,
  everyMs: 1000,
  timeoutMs: 10_000,
  firstRetryMs: 1000,
  longestRetryMs: 30_000,
};

/** Statuses after which OTLP allows a retry of the export. */
const REPEATABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * OpenTelemetry's own batch processor and exporter give up a batch after 10 s, and cannot be
 * stopped. Here a batch waits for an unavailable collector for as long as the buffer has room.
 */
export function createSpanExporter(options: SpanExporterOptions) {
  const { target, encode, metrics, log } = options;
  const bounds: ExportBounds = { ...BOUNDS, ...options.bounds };
  let isRefused = false;

  async function send(traces: readonly FinishedTrace[], stop: AbortSignal): Promise<void> {
    const spans = traces.flat();
    const config = target();
    if (config === undefined) return metrics.spansDropped('unsent', spans.length);
    const timeout = AbortSignal.any([AbortSignal.timeout(bounds.timeoutMs), stop]);
    const status = await post(config, encode(spans), timeout);
    const wasRefused = isRefused;
    isRefused = status >= 300;
    if (!isRefused) return metrics.spansExported(spans.length);
    metrics.spansDropped('refused', spans.length);
    if (!wasRefused) log.warn({ status }, 'the collector refuses traces: they are dropped');
  }

  const writer = new BufferedWriter<FinishedTrace>({
    write: send,
    bounds,
    sizeOf: (trace) => trace.length,
    onDropped: (reason, spans) => metrics.spansDropped(reason === 'full' ? 'queue_full' : 'unsent', spans),
    log,
    messages: {
      failing: 'traces cannot be exported now: they wait',
      recovered: 'the collector of traces answers again',
      full: 'traces cannot be exported: the newest are dropped',
      lost: 'traces are lost: the time to stop is over',
    },
  });
  metrics.watchSpans(() => writer.waiting());
  return {
    /** Adds a trace, or drops it when too many spans wait. */
    add: (trace: FinishedTrace): void => writer.add(trace),
    /** Sends the waiting spans, and ends. Those not sent within this time, in ms, are dropped. */
    close: async (withinMs: number): Promise<void> => void (await writer.close(withinMs)),
  };
}

/** Resolves with the status of the response. Rejects when the export has to be retried. */
async function post({ otlpUrl, headers }: TracingConfig, body: Uint8Array, signal: AbortSignal): Promise<number> {
  const response = await fetch(otlpUrl, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-protobuf' },
    body,
    // The headers are secrets, and only for the configured collector.
    redirect: 'error',
    signal,
  });
  await response.body?.cancel();
  if (REPEATABLE.has(response.status)) throw new Error(`status ${response.status}`);
  return response.status;
}
