import type { Target } from '../../../core/config/gateway-config.ts';
import { GrowingBytes } from '../../shared-budget/growing-bytes.ts';
import type { Room } from '../../shared-budget/shared-budget.ts';
import type { Span } from '../../tracing/request-trace.ts';
import { parseError, parseObject } from '../provider/json-object.ts';
import type { ProviderCall, ResponseHead } from '../provider/provider-call.ts';
import {
  bodyFailure,
  envoyFailure,
  FAILURES,
  type ProviderFailure,
  statusFailure,
  withoutSecrets,
  workFor,
} from '../provider/provider-failure.ts';
import { providerRequest } from '../provider/provider-request.ts';
import { parseRetryAfterMs } from '../provider/provider-retry-after.ts';

import { hasError } from '../response/completion.ts';
import type { ProviderAnswer } from '../response/read-answer.ts';
import { errorListIn, meaningOf } from '../response/stream-event.ts';
import { StreamSource } from '../response/stream-source.ts';
import { beginAttemptSpan, noteFirstEvent } from './attempt-span.ts';
import { leaveBefore } from './leaving.ts';
import type { FailedAttempt } from './run.ts';
import { elapsedMs, isDrained, type Run, remainingMs } from './run.ts';

/** A provider's answer that can be passed on: a whole JSON answer, or a stream whose first event is here. */
export type Opened = OpenedJson | OpenedStream;

export interface OpenedJson {
  readonly kind: 'json';
  readonly target: Target;
  readonly answer: ProviderAnswer;
  /** Released when the answer is out of memory. */
  readonly room: Room;
  /** Both since the delivery began. */
  readonly askedMs: number;
  readonly latencyMs: number;
}

export interface OpenedStream {
  readonly kind: 'stream';
  readonly target: Target;
  readonly call: ProviderCall;
  /** Begins with the first event that is a chunk. */
  readonly source: StreamSource;
  /** Both since the delivery began. */
  readonly askedMs: number;
  readonly latencyMs: number;
}

/** Asks one target once. Every wait in here is bounded by the call's limit. */
export async function attempt(run: Run, target: Target): Promise<Opened | FailedAttempt> {
  const { order, exchange } = run;
  const drained = isDrained(run, target);
  if (exchange.gone.aborted && !drained) return { kind: 'failed', failure: FAILURES.abandoned, target };
  if (order.mustEnd.aborted) return { kind: 'failed', failure: FAILURES.processEnds, target };
  const askedMs = elapsedMs(run);
  run.account.asked(target);
  const span = beginAttemptSpan(order, target);
  const call = ask(run, target, span);
  setLimit(run, call);
  const abandon = () => leaveBefore(run, target, call);
  const endCall = () => call.abort(FAILURES.processEnds);
  order.mustEnd.addEventListener('abort', endCall, { once: true });
  if (!drained) exchange.gone.addEventListener('abort', abandon, { once: true });
  let opened: Opened | ProviderFailure | undefined;
  try {
    opened = await open(run, target, call, askedMs);
    if (opened.kind !== 'failure') return opened;
    span?.fail(opened.result);
    const { wasSent, answerBytes, requestId } = call;
    const asked = { askedMs, wasSent, answerBytes, requestId };
    return { kind: 'failed', failure: withoutSecrets(opened, target.provider.apiKey), target, asked };
  } finally {
    if (opened?.kind !== 'stream') {
      span?.end();
      call.release(opened?.kind === 'json');
    }
    order.mustEnd.removeEventListener('abort', endCall);
    if (!drained) exchange.gone.removeEventListener('abort', abandon);
  }
}

/** Not in `attempt`: what an async function has named stays in memory while it waits, and the request holds the body. */
function ask({ order, providers, request, identify }: Run, target: Target, span: Span | undefined): ProviderCall {
  return providers.call(providerRequest(order, target, span, identify), request);
}

function setLimit(run: Run, call: ProviderCall): void {
  const leftMs = remainingMs(run);
  const { firstByteMs } = run.order.config.timeouts;
  if (run.order.chat.stream && firstByteMs < leftMs) call.limit(firstByteMs, FAILURES.firstByte);
  else call.limit(leftMs, FAILURES.deadline);
}

async function open(run: Run, target: Target, call: ProviderCall, askedMs: number): Promise<Opened | ProviderFailure> {
  const head = await call.head();
  if (head.kind === 'failure') return head;
  if (head.status < 200 || head.status > 299) return failureOf(run, target, call, head);
  run.unreachable.delete(target.provider);
  const encoding = head.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return FAILURES.encoded;
  const contentType = head.header('content-type')?.toLowerCase() ?? '';
  if (!run.order.chat.stream) return openJson(run, target, call, askedMs);
  if (contentType.includes('html')) return FAILURES.malformed;
  if (contentType.includes('json')) return errorInJson(call);
  return openStream(run, target, call, askedMs);
}

const MAX_ERROR_BODY_BYTES = 64 * 1024;
const ERROR_BODY_MS = 2000;

async function failureOf(
  run: Run,
  { provider }: Target,
  call: ProviderCall,
  head: ResponseHead,
): Promise<ProviderFailure> {
  const leftMs = remainingMs(run);
  call.limit(leftMs < ERROR_BODY_MS ? leftMs : ERROR_BODY_MS, FAILURES.abandoned);
  // Read in any case: a connection whose answer is not read to its end is lost.
  const body = await readWhole(call, MAX_ERROR_BODY_BYTES);
  const local = head.header('x-gw-local');
  const failure = local === undefined ? undefined : envoyFailure(local);
  if (failure && workFor(failure, true) === 'none') run.unreachable.add(provider);
  else run.unreachable.delete(provider);
  if (failure) return failure;
  const value = Buffer.isBuffer(body) ? parseError(body.toString()) : undefined;
  return statusFailure(head.status, value, parseRetryAfterMs(head.header('retry-after'), run.clock.nowMs()));
}

async function openJson(
  run: Run,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedJson | ProviderFailure> {
  const latencyMs = elapsedMs(run);
  const room = run.answers.open(run.order.organizationId);
  let passedOn = false;
  try {
    const { generationId, model, organizationId, config } = run.order;
    const bytes = await readWhole(call, config.limits.responseBodyBytes, room);
    if (!Buffer.isBuffer(bytes)) return bytes;
    const answer = await run.reader.read(bytes, { generationId, model: model.id }, organizationId);
    if (answer.kind === 'failure') return answer;
    passedOn = true;
    return { kind: 'json', target, room, askedMs, latencyMs, answer };
  } finally {
    if (!passedOn) room.release();
  }
}

/** JSON where a stream was asked for: an error that came with the wrong status, or nothing that could be passed on. */
async function errorInJson(call: ProviderCall): Promise<ProviderFailure> {
  const body = await readWhole(call, MAX_ERROR_BODY_BYTES);
  if (!Buffer.isBuffer(body)) return body;
  const text = body.toString();
  const value = parseObject(text);
  if (value === undefined) return errorListIn(text) ?? FAILURES.malformed;
  return hasError(value) ? bodyFailure(value) : FAILURES.malformed;
}

async function openStream(
  run: Run,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedStream | ProviderFailure> {
  const source = new StreamSource(call, run.order.config.limits.responseBodyBytes);
  for (;;) {
    await source.read();
    for (let event = source.next(); event !== undefined; event = source.next()) {
      const meaning = meaningOf(event);
      if (meaning?.kind === 'failure') return meaning;
      // Nothing has been produced: neither `[DONE]` nor the end make an answer of it.
      if (meaning?.kind === 'done') return FAILURES.malformed;
      if (meaning === undefined) continue;
      source.unread({ text: event.data, completion: meaning.completion });
      call.limit(remainingMs(run), FAILURES.deadline);
      call.limitSilence(run.order.config.timeouts.streamIdleMs, FAILURES.stall);
      const latencyMs = elapsedMs(run);
      noteFirstEvent(run.order, latencyMs - askedMs);
      return { kind: 'stream', target, call, source, askedMs, latencyMs };
    }
    if (source.end) return source.end.kind === 'end' ? FAILURES.malformed : source.end;
  }
}

async function readWhole(call: ProviderCall, maxBytes: number, room?: Room): Promise<Buffer | ProviderFailure> {
  const whole = new GrowingBytes();
  for (;;) {
    // A small answer is here with its head.
    const read = call.poll() ?? (await call.read());
    if (!Buffer.isBuffer(read)) return read.kind === 'end' ? whole.take() : read;
    if (whole.length + read.length > maxBytes) return FAILURES.tooLarge;
    if (room?.take(read.length) === false) return FAILURES.noRoom;
    whole.append(read, 0, read.length);
  }
}
