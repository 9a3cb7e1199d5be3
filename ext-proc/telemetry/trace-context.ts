import { randomUUID } from 'node:crypto';

/**
 * The trace that a request belongs to, as `traceparent` and `tracestate` of W3C Trace Context
 * describe it. Both come from outside: a value that is not well formed is ignored, and its request
 * begins a trace of its own.
 */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the sender. */
  readonly spanId: string;
  /** True if the sender records its part. */
  readonly sampled: boolean;
  /** Values of other tracing systems, to be passed on. */
  readonly state?: string;
}

/** A later version may have further fields after the four of the first. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Stricter than OpenTelemetry's propagator, which accepts outer spaces and any tracestate. */
export function readTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  if (version === '00' && more !== undefined) return undefined;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  const isPassedOn = tracestate !== undefined && isTraceState(tracestate);
  return { traceId, spanId, sampled, ...(isPassedOn ? { state: tracestate } : {}) };
}

/** Alternating names and values of headers. */
export function traceHeaders({ traceId, spanId, sampled, state }: TraceContext): string[] {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
  return ['traceparent', traceparent, ...(state === undefined ? [] : ['tracestate', state])];
}

/** Headers for a request that is not traced: the receiver need not record it either. */
export function untracedHeaders(): string[] {
  return traceHeaders({ traceId: newTraceId(), spanId: newSpanId(), sampled: false });
}

/** 32 hex digits, 122 random bits. A UUID costs a tenth of randomBytes: Node caches its data. */
export function newTraceId(): string {
  return randomUUID().replaceAll('-', '');
}

/** 16 hexadecimal digits, all of them random. */
export function newSpanId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 4) + uuid.slice(-12);
}

/** Longest value. The standard asks everybody to pass on values up to this length. */
const LONGEST_STATE = 512;
const MOST_MEMBERS = 32;
const MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

function isTraceState(text: string): boolean {
  if (text === '' || text.length > LONGEST_STATE) return false;
  const members = text.split(',');
  return members.length <= MOST_MEMBERS && members.every((member) => MEMBER.test(member.trim()));
}
