/**
 * Which trace a request belongs to, as W3C Trace Context says it in `traceparent` and `tracestate`. Both come from outside: what is not
 * exactly in its form is no context, and its request begins a trace of its own.
 */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of whoever sent it. */
  readonly spanId: string;
  /** Whoever sent it records its part. */
  readonly sampled: boolean;
  /** What other tracing systems want passed on with it. */
  readonly state?: string;
}

/** A later version may say more after the four fields of the first. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

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

export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Of all of it, as the standard asks everybody to pass on. */
const LONGEST_STATE = 512;
const MOST_MEMBERS = 32;
const MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

function isTraceState(text: string): boolean {
  if (text === '' || text.length > LONGEST_STATE) return false;
  const members = text.split(',');
  return members.length <= MOST_MEMBERS && members.every((member) => MEMBER.test(member.trim()));
}
