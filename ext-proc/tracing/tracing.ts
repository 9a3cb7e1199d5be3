import type { Clock } from '../../core/clock.ts';
import type { TracingConfig } from '../../core/config/gateway-config.ts';
import { RequestTrace } from './request-trace.ts';
import type { SpanExporter } from './span-exporter.ts';
import { readTraceContext } from './trace-context.ts';

/** Decides which requests are traced, and hands on what they told. */
export interface Tracing {
  /** `undefined`: this one is not. */
  begin(request: TracedRequest, config: TracingConfig): RequestTrace | undefined;
  /** The request is over: its spans are as they are. */
  end(trace: RequestTrace): void;
}

export interface TracedRequest {
  header(name: string): string | undefined;
  /** Whoever sent it is the operator's own (`trusted_proxies`). */
  isTrusted(): boolean;
}

export function createTracing(clock: Clock, exporter: Pick<SpanExporter, 'add'>): Tracing {
  return {
    /**
     * A client's trace goes on here, but whether it is recorded is the operator's to decide, who pays for it: the client's own decision
     * counts only from proxies that are trusted. For all others it is thrown for, not derived from a trace id that they choose.
     */
    begin(request, { sampleRatio }) {
      const parent = readTraceContext(request.header('traceparent'), request.header('tracestate'));
      const isDecided = parent !== undefined && request.isTrusted();
      const isSampled = isDecided ? parent.sampled : Math.random() < sampleRatio;
      return isSampled ? new RequestTrace(clock, parent) : undefined;
    },
    end(trace) {
      trace.end();
      exporter.add(trace);
    },
  };
}
