import {
  type AnyValue,
  ExportTraceServiceRequest,
  type KeyValue,
  type Span as OtlpSpan,
  SpanKind,
  StatusCode,
} from '../../proto/generated/otlp_trace.ts';
import type { FinishedTrace } from './request-trace.ts';
import type { AttributeValue, Span } from './span.ts';

export type Resource = ReadonlyMap<string, AttributeValue>;

/** The body of one export, in OpenTelemetry's protocol. */
export function encodeTraces(traces: readonly FinishedTrace[], resource: Resource): Uint8Array {
  const spans = traces.flatMap((trace) => {
    const traceId = Buffer.from(trace.traceId, 'hex');
    return trace.spans.map((span) => otlpSpan(span, trace, traceId));
  });
  const message: ExportTraceServiceRequest = {
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope: SCOPE, spans }] }],
  };
  return ExportTraceServiceRequest.encode(message).finish();
}

const SCOPE = { name: 'inference-gateway' };
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

const SAMPLED = 0x01;
/** It is known where the parent is: outside, or here. */
const PARENT_OUTSIDE = 0x300;
const PARENT_HERE = 0x100;

function otlpSpan(span: Span, { spans, state, epochMs }: FinishedTrace, traceId: Buffer): OtlpSpan {
  const { parentId, startedMs } = span;
  return {
    traceId,
    spanId: Buffer.from(span.id, 'hex'),
    ...(parentId === undefined ? {} : { parentSpanId: Buffer.from(parentId, 'hex') }),
    ...(state === undefined ? {} : { traceState: state }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: unixNano(epochMs + startedMs),
    endTimeUnixNano: unixNano(epochMs + (span.endedMs ?? startedMs)),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, atMs, attributes }) => ({
      name,
      timeUnixNano: unixNano(epochMs + atMs),
      attributes: attributesOf(attributes),
    })),
    ...(span.failed ? { status: { code: StatusCode.ERROR } } : {}),
    flags: SAMPLED | (span === spans[0] && parentId !== undefined ? PARENT_OUTSIDE : PARENT_HERE),
  };
}

/** To the microsecond: a number does not hold more of today's time. */
function unixNano(unixMs: number): bigint {
  return BigInt(Math.round(unixMs * 1000)) * 1000n;
}

function attributesOf(attributes: ReadonlyMap<string, AttributeValue>): KeyValue[] {
  return Array.from(attributes, ([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: AttributeValue): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'object') return { arrayValue: { values: value.map(anyValue) } };
  return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
}
