import { hostname } from 'node:os';
import type { Clock } from '#core/clock.ts';
import type { TracingConfig } from '#core/config/tracing.ts';
import type { Log } from '#core/log/log.ts';
import type { FinishedTrace, RequestTrace, RequestTracer } from './request-trace.ts';
import { createSpanExporter } from './span-exporter.ts';
import { readTraceContext } from './trace-context.ts';
import type { TraceMetrics } from './trace-metrics.ts';

/** Decides which requests are traced, and exports their traces. */
export type Tracing = Awaited<ReturnType<typeof openTracing>>;

export interface TracedRequest {
  header(name: string): string | undefined;
  /** True if the sender is one of the operator's proxies (`trusted_proxies`). */
  isTrusted(): boolean;
}

/**
 * Decides whether a request is traced. A client's trace is continued, but the operator pays for the
 * record, so only the flag of a trusted proxy decides. For all others the decision is random, and
 * not derived from a trace id that they choose. `parent`: the sender's span, if it sent one.
 */
export function decide(request: TracedRequest, { sampleRatio }: TracingConfig) {
  const parent = readTraceContext(request.header('traceparent'), request.header('tracestate'));
  const isDecided = parent !== undefined && request.isTrusted();
  const isSampled = isDecided ? parent.sampled : Math.random() < sampleRatio;
  return isSampled ? { parent } : undefined;
}

export interface OpeningTracing {
  /** The configuration now: a reload may switch tracing on, off, and to another collector. */
  readonly target: () => TracingConfig | undefined;
  readonly workerIndex: number;
  readonly version: string;
  readonly clock: Clock;
  readonly metrics: TraceMetrics;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

/** Resolves when requests can be traced, if the configuration says so. */
export async function openTracing(options: OpeningTracing) {
  const { target, workerIndex, version, clock, metrics, log } = options;
  const resource = {
    'service.name': 'inference-gateway',
    'service.version': version,
    'service.instance.id': `${hostname()}-${workerIndex}`,
  };
  let tracer: RequestTracer | undefined;
  const encode = (spans: FinishedTrace): Uint8Array => {
    if (tracer === undefined) throw new Error('spans of a tracer that is not loaded');
    return tracer.encode(spans);
  };
  const exporter = createSpanExporter({ target, encode, metrics, log });

  /** Loads OpenTelemetry for a configuration with tracing, before the configuration is active. */
  async function prepare(config: TracingConfig | undefined): Promise<void> {
    if (config === undefined || tracer !== undefined) return;
    const { openRequestTracer } = await import('./request-trace.ts');
    tracer = openRequestTracer(clock, resource);
  }

  await prepare(target());
  return {
    prepare,
    /** `undefined`: this request is not traced. */
    begin(request: TracedRequest, config: TracingConfig): RequestTrace | undefined {
      const decision = decide(request, config);
      return decision && tracer?.begin(decision.parent);
    },
    /** Ends the trace of a request, and exports it. */
    end(trace: RequestTrace): void {
      if (tracer) exporter.add(tracer.end(trace));
    },
    close: exporter.close,
  };
}
