import type { Clock } from '../../core/clock.ts';
import { Span, type SpanKind } from './span.ts';
import { newSpanId, newTraceId } from './span-ids.ts';
import { type TraceContext, traceparentOf } from './trace-context.ts';

/** What is exported of a request: its spans, the first of which is the whole request. */
export interface FinishedTrace {
  readonly traceId: string;
  readonly state: string | undefined;
  readonly spans: readonly Span[];
  /** What is to be added to times on the monotonic clock, to have Unix milliseconds. */
  readonly epochMs: number;
}

/**
 * A request that is traced. It does one thing after the other, so its parts are told as steps: each begins where the one before has ended,
 * or ends it. It is handed from call to call like anything else a request has; a request that is not traced has none.
 */
export class RequestTrace implements FinishedTrace {
  readonly traceId: string;
  readonly state: string | undefined;
  readonly root: Span;
  readonly epochMs: number;
  readonly #clock: Clock;
  readonly #spans: Span[];
  #step: Span | undefined;

  constructor(clock: Clock, parent: TraceContext | undefined) {
    this.#clock = clock;
    this.traceId = parent?.traceId ?? newTraceId();
    this.state = parent?.state;
    this.epochMs = clock.nowMs() - clock.monotonicMs();
    this.root = new Span('request', 'server', parent?.spanId, clock.monotonicMs);
    this.#spans = [this.root];
  }

  get spans(): readonly Span[] {
    return this.#spans;
  }

  /** What the request does now, or did last. */
  get current(): Span | undefined {
    return this.#step;
  }

  /** What the request does from now on. */
  step(name: string, kind: SpanKind = 'internal'): Span {
    this.#step?.end();
    this.#step = new Span(name, kind, this.root.id, this.#clock.monotonicMs);
    this.#spans.push(this.#step);
    return this.#step;
  }

  /** Nothing more is done but to answer. A step that was under way is what the request was refused in. */
  decided(errorType: string | undefined): void {
    if (this.#step === undefined || this.#step.endedMs !== undefined) return;
    if (errorType !== undefined) this.#step.set('error.type', errorType);
    this.#step.end();
  }

  end(): void {
    this.#step?.end();
    this.root.end();
  }

  /** For whoever is asked on behalf of this span. */
  headersFor(span: Span): string[] {
    const traceparent = traceparentOf({ traceId: this.traceId, spanId: span.id, sampled: true });
    return ['traceparent', traceparent, ...(this.state === undefined ? [] : ['tracestate', this.state])];
  }
}

/** On behalf of a request that is not traced: nobody need record it. */
export function untracedHeaders(): string[] {
  return ['traceparent', traceparentOf({ traceId: newTraceId(), spanId: newSpanId(), sampled: false })];
}
