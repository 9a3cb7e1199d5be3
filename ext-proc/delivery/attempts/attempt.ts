import type { Provider, Target } from '#core/config/gateway-config.ts';
import { API_PATHS } from '#core/config/provider-api.ts';
import { parseError, parseObject } from '#core/json-object.ts';
import { hasError } from '../../dialects/completion.ts';
import { GrowingBytes } from '../../fairness/growing-bytes.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import type { AddedReasoning } from '../../reasoning/request-reasoning.ts';
import type { Span } from '../../telemetry/request-trace.ts';
import { doorApiOf, namesAtDoor } from '../provider/admitted-request.ts';
import { DIALECTS } from '../provider/dialects.ts';
import type { Pick } from '../provider/endpoint-picker.ts';
import { DESTINATION } from '../provider/picker-messages.ts';
import type { ProviderCall, ProviderHead } from '../provider/provider-call.ts';
import {
  bodyFailure,
  envoyFailure,
  FAILURES,
  type ProviderFailure,
  statusFailure,
  unsayable,
  withoutSecrets,
  workFor,
} from '../provider/provider-failure.ts';
import { chatBody, type ProviderRequest, passedBody, providerRequest } from '../provider/provider-request.ts';
import { parseRetryAfterMs } from '../provider/provider-retry-after.ts';
import { secretsOf } from '../provider/redact-secrets.ts';
import { sentTierOf } from '../provider/sent-tier.ts';
import type { ProviderResponse } from '../response/read-response.ts';
import { sentEstimate } from '../response/response-meter.ts';
import { errorListIn } from '../response/stream-event.ts';
import type { FailedAttempt } from './active-delivery.ts';
import { type ActiveDelivery, isDrained, remainingMs, sinceStartMs } from './active-delivery.ts';
import { beginAttemptSpan } from './attempt-span.ts';
import { KEEP_BODY, keepBody } from './kept-body.ts';
import { leaveBefore } from './leaving.ts';
import { type OpenedStream, openStream, type UnopenedStream } from './open-stream.ts';
import { NO_TOKEN, WITHOUT_TOKEN, waitForToken } from './provider-tokens.ts';

/** A response that can be delivered: whole JSON, or a stream whose first event has arrived. */
export type Opened = OpenedJson | OpenedStream;

export interface OpenedJson {
  readonly kind: 'json';
  readonly target: Target;
  readonly response: ProviderResponse;
  /** Share of the response budget. Released when the response leaves memory. */
  readonly reservation: MemoryReservation;
  /** Start of the call and of the response, in ms since the delivery began. */
  readonly askedMs: number;
  readonly firstEventMs: number;
}

/** Makes one attempt. Every wait is bounded by the limits of the call. */
export async function attempt(delivery: ActiveDelivery, target: Target): Promise<Opened | FailedAttempt> {
  const { admitted, exchange } = delivery;
  if (target.provider.auth?.kind === 'oauth2') await waitForToken(delivery, target);
  const drained = isDrained(delivery, target);
  if (exchange.gone.aborted && !drained) return { kind: 'failed', failure: FAILURES.abandoned, target };
  if (admitted.mustEnd.aborted) return { kind: 'failed', failure: FAILURES.processEnds, target };
  const asking = ask(delivery, target);
  const begun = asking instanceof Promise ? await asking : asking;
  if (begun.kind === 'failure') return { kind: 'failed', failure: begun, target };
  const { call, span, askedMs } = begun;
  setLimit(delivery, call);
  const abandon = () => leaveBefore(delivery, target, call);
  const endCall = () => call.abort(FAILURES.processEnds);
  admitted.mustEnd.addEventListener('abort', endCall, { once: true });
  if (!drained) exchange.gone.addEventListener('abort', abandon, { once: true });
  // Both signals may have fired while the body was translated.
  if (admitted.mustEnd.aborted) endCall();
  if (exchange.gone.aborted && !drained) abandon();
  let opened: Opened | UnopenedStream | ProviderFailure | undefined;
  try {
    opened = await open(delivery, target, call, askedMs);
    if (opened.kind === 'json' || opened.kind === 'stream') return opened;
    const { failure, reported } = opened.kind === 'unopened' ? opened : { failure: opened, reported: undefined };
    span?.fail(failure.result);
    const { wasSent, responseBytes, requestId } = call;
    const asked = { askedMs, wasSent, responseBytes, requestId, reported };
    return { kind: 'failed', failure: withoutSecrets(failure, secretsOf(target.provider)), target, asked };
  } finally {
    if (opened?.kind !== 'stream') {
      span?.end();
      call.release(opened?.kind === 'json');
    }
    admitted.mustEnd.removeEventListener('abort', endCall);
    if (!drained) exchange.gone.removeEventListener('abort', abandon);
  }
}

interface BegunAttempt {
  readonly kind: 'begun';
  readonly call: ProviderCall;
  readonly span: Span | undefined;
  readonly askedMs: number;
}

/** Begins the call. Separate, because variables of the waiting `attempt` would keep the body. */
function ask(
  delivery: ActiveDelivery,
  target: Target,
): BegunAttempt | ProviderFailure | Promise<BegunAttempt | ProviderFailure> {
  // `of` is called for every target, because it also counts the reasoning that is sent.
  const { atDoor } = delivery.admitted;
  const isPassed = atDoor?.passesTo(target) === true;
  const reasoning = delivery.admitted.reasoning?.of(target, isPassed) ?? [];
  if (isPassed) return callPicked(delivery, target, passedBody(atDoor, delivery.admitted, target, delivery.identify));
  const body = chatBody(delivery.admitted, target, reasoning, delivery.identify);
  return target.api === 'chat' && atDoor?.hasToolMedia !== true
    ? callPicked(delivery, target, body)
    : askTranslated(delivery, target, body, reasoning);
}

async function askTranslated(
  delivery: ActiveDelivery,
  target: Target,
  body: readonly Buffer[],
  reasoning: readonly AddedReasoning[],
): Promise<BegunAttempt | ProviderFailure> {
  const { admitted, translator, requestMemory } = delivery;
  const { api, model, reasoningBudgets, shaping = [] } = target;
  const fields = {
    ...{ model, outputLimit: admitted.outputLimit, stream: admitted.chat.stream },
    extraFields: [...(target.provider.extraFields ?? [])],
    isReasoning: admitted.model.reasoningEfforts.length > 0,
    ...(reasoningBudgets === undefined ? {} : { reasoningBudgets }),
  };
  const translated = await translator.translate(body, { api, fields, shaping, reasoning }, admitted.organizationId);
  if (translated === undefined) return FAILURES.untranslated;
  if (translated.kind === 'unsayable') return unsayable(translated);
  const { buffer, byteOffset, length } = translated.bytes;
  if (!requestMemory.takeTranslated(length)) return FAILURES.noRoom;
  return callPicked(delivery, target, [Buffer.from(buffer, byteOffset, length)]);
}

/** Calls the provider. If it has an endpoint picker, queries that first. */
function callPicked(
  delivery: ActiveDelivery,
  target: Target,
  body: readonly Buffer[],
): BegunAttempt | Promise<BegunAttempt | ProviderFailure> {
  const { name, endpointPicker, baseUrl } = target.provider;
  if (endpointPicker === undefined) return call(delivery, target, body);
  const path = `${baseUrl.pathname}${API_PATHS[target.api]}`;
  return delivery.pickers.pick({ name, endpointPicker }, path, body).then((pick) => {
    if (pick.answer.kind !== 'refused') return call(delivery, target, body, pick);
    pick.done();
    return FAILURES.notPicked;
  });
}

function call(delivery: ActiveDelivery, target: Target, body: readonly Buffer[], pick?: Pick): BegunAttempt {
  const { admitted, providers, requestMemory } = delivery;
  const askedMs = sinceStartMs(delivery);
  const { chat } = admitted;
  const promptTokens = Math.min(sentEstimate(chat), chat.inputTokens.ceiling);
  delivery.hold.asked(target, { tier: sentTierOf(target, chat), promptTokens });
  const span = beginAttemptSpan(admitted, target);
  const request = prepared(delivery, target, providerRequest(admitted, target, span, body), pick);
  return { kind: 'begun', call: providers.call(request, requestMemory.sentListener), span, askedMs };
}

/** Adds what Envoy needs to choose an endpoint, and another one after a failure. */
function prepared(delivery: ActiveDelivery, target: Target, request: ProviderRequest, pick?: Pick): ProviderRequest {
  const kept = keepBody(delivery, target, request.bodyBytes);
  if (kept === undefined && pick === undefined) return request;
  const picked = pick?.answer.kind === 'picked' ? [DESTINATION, pick.answer.endpoints] : [];
  const headers = request.headers && [...request.headers, ...(kept === undefined ? [] : KEEP_BODY), ...picked];
  const onOver = () => {
    kept?.release();
    pick?.done();
  };
  return { ...request, headers, onOver };
}

function setLimit(delivery: ActiveDelivery, call: ProviderCall): void {
  const leftMs = remainingMs(delivery);
  const { firstByteMs } = delivery.admitted.model.timeouts;
  if (delivery.admitted.chat.stream && firstByteMs < leftMs) call.limit(firstByteMs, FAILURES.firstByte);
  else call.limit(leftMs, FAILURES.deadline);
}

async function open(
  delivery: ActiveDelivery,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<Opened | UnopenedStream | ProviderFailure> {
  const head = await call.head();
  if (head.kind === 'failure') return head;
  if (head.status < 200 || head.status > 299) return failureOf(delivery, target, call, head);
  delivery.unreachable.delete(target.provider);
  const encoding = head.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return FAILURES.encoded;
  const contentType = head.header('content-type')?.toLowerCase() ?? '';
  if (!delivery.admitted.chat.stream) return openJson(delivery, target, call, askedMs);
  if (contentType.includes('html')) return FAILURES.malformed;
  if (contentType.includes('json')) return errorInJson(call, target);
  return openStream(delivery, target, call, askedMs);
}

const MAX_ERROR_BODY_BYTES = 64 * 1024;
const ERROR_BODY_MS = 2000;

async function failureOf(
  delivery: ActiveDelivery,
  { provider, api }: Target,
  call: ProviderCall,
  head: ProviderHead,
): Promise<ProviderFailure> {
  call.limit(Math.min(ERROR_BODY_MS, remainingMs(delivery)), FAILURES.abandoned);
  // Read even if unused: a connection is reusable only after the end of its response.
  const body = await readWhole(call, MAX_ERROR_BODY_BYTES);
  const local = head.header('x-gw-local');
  const failure = local === undefined ? undefined : await localFailure(delivery, provider, local, body);
  if (failure && workFor(failure, true) === 'none') delivery.unreachable.add(provider);
  else delivery.unreachable.delete(provider);
  if (failure) return failure;
  const said = Buffer.isBuffer(body) ? parseError(body.toString()) : undefined;
  const value = DIALECTS[api]?.error(said) ?? said;
  return statusFailure(head.status, value, parseRetryAfterMs(head, delivery.clock.nowMs()));
}

/** Describes a response that Envoy made itself. `flags`: its response flags. */
async function localFailure(
  { tokens }: ActiveDelivery,
  provider: Provider,
  flags: string,
  body: Buffer | ProviderFailure,
): Promise<ProviderFailure> {
  const hasNoToken = Buffer.isBuffer(body) && body.toString().includes(NO_TOKEN);
  if (hasNoToken) return WITHOUT_TOKEN[await tokens.whyNone(provider)];
  const failure = envoyFailure(flags);
  // The operator's own servers bill nothing, so a second attempt costs nothing.
  const isUnpaid = failure === FAILURES.reset && provider.endpoints !== undefined;
  return isUnpaid ? { ...failure, retry: 'same' } : failure;
}

async function openJson(
  delivery: ActiveDelivery,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedJson | ProviderFailure> {
  const firstEventMs = sinceStartMs(delivery);
  const reservation = delivery.responseBudget.open(delivery.admitted.organizationId);
  let passedOn = false;
  try {
    const { generationId, model, organizationId, config, atDoor } = delivery.admitted;
    const bytes = await readWhole(call, config.limits.responseBodyBytes, reservation);
    const isEmbedding = doorApiOf(delivery.admitted) === 'embeddings';
    const shown = atDoor && {
      api: atDoor.door.api,
      names: namesAtDoor(delivery.admitted, atDoor),
      isPassed: atDoor.passesTo(target),
    };
    const names = { generationId, model: model.id, api: target.api, isEmbedding, ...(shown ? { shown } : {}) };
    const response = Buffer.isBuffer(bytes) ? await delivery.reader.read(bytes, names, organizationId) : bytes;
    // Embeddings that are too large would be as large from another target.
    if (response.kind === 'failure')
      return isEmbedding && response.result === FAILURES.tooLarge.result ? { ...response, retry: 'none' } : response;
    passedOn = true;
    return { kind: 'json', target, reservation, askedMs, firstEventMs, response };
  } finally {
    if (!passedOn) reservation.release();
  }
}

/** Describes JSON in place of a stream: an error with a success status, or an invalid response. */
async function errorInJson(call: ProviderCall, { api }: Target): Promise<ProviderFailure> {
  const body = await readWhole(call, MAX_ERROR_BODY_BYTES);
  if (!Buffer.isBuffer(body)) return body;
  const text = body.toString();
  const said = parseObject(text);
  const value = said && (DIALECTS[api]?.response(said) ?? said);
  if (value === undefined) return errorListIn(text) ?? FAILURES.malformed;
  return hasError(value) ? bodyFailure(value) : FAILURES.malformed;
}

async function readWhole(
  call: ProviderCall,
  maxBytes: number,
  reservation?: MemoryReservation,
): Promise<Buffer | ProviderFailure> {
  const whole = new GrowingBytes();
  for (;;) {
    // A small response arrives together with its head.
    const read = call.poll() ?? (await call.read());
    if (!Buffer.isBuffer(read)) return read.kind === 'end' ? whole.take() : read;
    if (whole.length + read.length > maxBytes) return FAILURES.tooLarge;
    if (reservation?.take(read.length) === false) return FAILURES.noRoom;
    whole.append(read, 0, read.length);
  }
}
