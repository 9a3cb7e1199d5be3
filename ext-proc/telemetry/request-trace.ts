import {
  type AttributeValue,
  type Context,
  createTraceState,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Clock } from '#core/clock.ts';
import { cutText } from '#core/cut-text.ts';
import { newSpanId, newTraceId, type TraceContext, traceHeaders } from './trace-context.ts';

/**
 * Requests as spans of OpenTelemetry. No provider, context manager or propagator is registered in
 * OpenTelemetry's globals: contexts are passed as arguments. This file is loaded only if tracing is
 * configured, because its packages take 140 ms of CPU and 15 MB.
 */
export type RequestTracer = ReturnType<typeof openRequestTracer>;

export type FinishedTrace = readonly ReadableSpan[];

/** `client`: a request of the gateway to another server. `internal`: any other step. */
const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

export function openRequestTracer(clock: Clock, resource: Readonly<Record<string, string>>) {
  const ended: ReadableSpan[] = [];
  const provider = new TracerProvider({
    resource: resourceFromAttributes(resource),
    // Whether a request is traced is decided before its trace begins (tracing.ts).
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: newTraceId, generateSpanId: newSpanId },
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd: (span) => void ended.push(span),
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      },
    ],
  });
  const tracer = provider.getTracer('inference-gateway');
  return {
    /** `parent`: the span of the sender, if the request has one. */
    begin: (parent: TraceContext | undefined) => new RequestTrace(tracer, clock, parent),
    /** Ends the trace. Returns its spans, first that of the whole request. */
    end(request: RequestTrace): FinishedTrace {
      request.end();
      return ended.splice(0);
    },
    /** The body of one export, in OpenTelemetry's protocol. */
    encode(spans: FinishedTrace): Uint8Array {
      const body = ProtobufTraceSerializer.serializeRequest([...spans]);
      if (body === undefined) throw new Error('OpenTelemetry encoded no spans');
      return body;
    },
  };
}

/**
 * A traced request. Its parts are steps, one after the other: each begins after the step before has
 * ended, or ends it. A request that is not traced has no trace.
 */
export class RequestTrace {
  readonly traceId: string;
  readonly root: Span;
  readonly #state: string | undefined;
  readonly #tracer: Tracer;
  readonly #nowMs: () => number;
  /** Parent of the steps. */
  readonly #context: Context;
  readonly #steps: Span[] = [];

  constructor(tracer: Tracer, clock: Clock, parent: TraceContext | undefined) {
    const epochMs = clock.nowMs() - clock.monotonicMs();
    this.#nowMs = () => epochMs + clock.monotonicMs();
    this.#tracer = tracer;
    this.#state = parent?.state;
    const options = { kind: SpanKind.SERVER, startTime: this.#nowMs() };
    const root = tracer.startSpan('request', options, contextOf(parent));
    this.root = new Span(root, this.#nowMs);
    this.traceId = root.spanContext().traceId;
    this.#context = trace.setSpan(ROOT_CONTEXT, root);
  }

  /** The step in progress, or the last one. */
  get current(): Span | undefined {
    return this.#steps.at(-1);
  }

  step(name: string, kind: keyof typeof KINDS = 'internal'): Span {
    this.current?.end();
    const options = { kind: KINDS[kind], startTime: this.#nowMs() };
    const step = new Span(this.#tracer.startSpan(name, options, this.#context), this.#nowMs);
    this.#steps.push(step);
    return step;
  }

  /** Called when only sending is left. A step in progress is the one that refused the request. */
  decided(errorType: string | undefined): void {
    const step = this.current;
    if (step === undefined || step.hasEnded) return;
    if (errorType !== undefined) step.set('error.type', errorType);
    step.end();
  }

  end(): void {
    this.current?.end();
    this.root.end();
    this.root.finish();
    for (const step of this.#steps) step.finish();
  }

  /** Headers for a server that is called on behalf of this span. */
  headersFor(span: Span): string[] {
    const state = this.#state === undefined ? {} : { state: this.#state };
    return traceHeaders({ traceId: this.traceId, spanId: span.id, sampled: true, ...state });
  }
}

/**
 * One part of a traced request. Attributes may still be set after its end, until the whole request
 * ends, so OpenTelemetry's span ends only then. It never has a prompt, a response, a key or a
 * client's address.
 */
export class Span {
  readonly id: string;
  readonly #span: OtelSpan;
  readonly #nowMs: () => number;
  #endedMs: number | undefined;

  constructor(span: OtelSpan, nowMs: () => number) {
    this.#span = span;
    this.#nowMs = nowMs;
    this.id = span.spanContext().spanId;
  }

  get hasEnded(): boolean {
    return this.#endedMs !== undefined;
  }

  /** Sets an attribute, unless its value is unknown. */
  set(name: string, value: AttributeValue | undefined): void {
    if (value !== undefined) this.#span.setAttribute(name, bounded(value));
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  event(name: string): void {
    this.#span.addEvent(name, undefined, this.#nowMs());
  }

  /** Marks the span as failed. `errorType` is one of a bounded set of words. */
  fail(errorType: string): void {
    this.set('error.type', errorType);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  /** Only the first end counts. */
  end(): void {
    this.#endedMs ??= this.#nowMs();
  }

  /** Ends OpenTelemetry's span. Attributes that are set later have no effect. */
  finish(): void {
    this.#span.end(this.#endedMs);
  }
}

function contextOf(parent: TraceContext | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled, state } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...{ traceId, spanId, isRemote: true },
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  });
}

const LONGEST_TEXT = 200;

function bounded(value: AttributeValue): AttributeValue {
  if (Array.isArray(value))
    return value.map((text) => (typeof text === 'string' ? cutText(text, LONGEST_TEXT) : text)) as string[];
  return typeof value === 'string' ? cutText(value, LONGEST_TEXT) : value;
}
