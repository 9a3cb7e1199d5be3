import type { Accounting, OpenHold } from '../accounting/accounting.ts';
import { type Admission, admit } from '../admission/admit.ts';
import { authenticate } from '../admission/authenticate.ts';
import { checkModel, type ModelChoice } from '../admission/check-model.ts';
import { readChatRequest } from '../admission/read-chat-request.ts';
import type { Delivery } from '../delivery/deliver.ts';
import type { DeliveryOutcome, Order } from '../delivery/delivery.ts';
import type { ChatRequest } from '../domain/chat-request.ts';
import type { Clock } from '../domain/clock.ts';
import { newId } from '../domain/ids.ts';
import { isRefusal, type Refusal, refuse } from '../errors/refusal.ts';
import type { Claims, FinishedAttempt, KeyedAttempt } from '../idempotency/claims.ts';
import { keyInFlight, readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import type { KeyStore } from '../stores/key-store.ts';
import type { LimitStore } from '../stores/limit-store.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Call, EndpointResult } from './call.ts';

export interface ChatDeps {
  readonly keys: KeyStore;
  readonly limits: LimitStore;
  readonly accounting: Accounting;
  readonly claims: Claims;
  readonly delivery: Delivery;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Longest silence inside an upload. */
const BODY_IDLE_MS = 30_000;

/** A request that is well formed and may be served. */
interface Admissible {
  readonly chat: ChatRequest;
  readonly choice: ModelChoice;
  readonly generationId: string;
  /** It has an Idempotency-Key, and is the attempt that works on it. */
  readonly attempt?: KeyedAttempt;
}

/** `POST /v1/chat/completions`: read, validate, claim, admit, deliver; the hold ends in exactly one charge or one release. */
export async function completeChat(deps: ChatDeps, call: Call): Promise<EndpointResult> {
  const body = await readBody(call);
  if (!Buffer.isBuffer(body)) return body;
  const chat = readChatRequest(body, call.exchange.header('content-encoding'));
  if (isRefusal(chat)) return chat;
  const idempotencyKey = readIdempotencyKey(call.exchange.header('idempotency-key'));
  if (isRefusal(idempotencyKey)) return idempotencyKey;
  call.notes.model = chat.model;
  call.notes.streamed = chat.stream;
  const choice = checkModel(chat, call.principal, call.config);
  if (isRefusal(choice)) return choice;
  // Charges that PostgreSQL could not take yet are not in any balance it reports.
  if (deps.accounting.isSpooling()) return refuse('no_capacity');
  const request = { chat, choice, generationId: newId('gen', call.arrivedAtMs) };
  return idempotencyKey === undefined
    ? admitAndDeliver(deps, call, request)
    : completeOnce(deps, call, request, idempotencyKey, body);
}

/** One answer for a key, however often it is asked for (INTERFACE 4). */
async function completeOnce(
  deps: ChatDeps,
  call: Call,
  request: Admissible,
  idempotencyKey: string,
  body: Buffer,
): Promise<EndpointResult> {
  const claimed = await deps.claims.claim({
    organizationId: call.principal.organization.id,
    idempotencyKey,
    body,
    generationId: request.generationId,
    retentionMs: call.config.idempotencyRetentionMs,
  });
  switch (claimed.kind) {
    case 'claimed':
      return admitAndDeliver(deps, call, { ...request, attempt: claimed.attempt });
    case 'finished':
      return replay(deps, call, request.chat, claimed);
    case 'running':
      return keyInFlight();
    case 'reused':
      return refuse('idempotency_key_reused');
  }
}

async function replay(
  { delivery }: ChatDeps,
  { config, exchange, notes, takeRead }: Call,
  chat: ChatRequest,
  finished: FinishedAttempt,
): Promise<EndpointResult> {
  const limited = await takeRead();
  if (limited) return limited;
  notes.generationId = finished.generationId;
  notes.replayed = true;
  const order = { ...finished, streamed: chat.stream, timeoutMs: config.timeouts.totalMs };
  const refused = await delivery.replay(order, exchange);
  notes.clientGone = exchange.gone.aborted;
  return refused ?? { kind: 'answered', status: 200 };
}

async function readBody({ exchange, config }: Call): Promise<Buffer | EndpointResult> {
  const limitBytes = config.limits.requestBodyBytes;
  const result = await exchange.readBody({ limitBytes, idleMs: BODY_IDLE_MS, totalMs: config.timeouts.totalMs });
  switch (result.kind) {
    case 'complete':
      return result.bytes;
    case 'too_large':
      return refuse('request_too_large', { limit_bytes: limitBytes });
    case 'timeout':
      return refuse('request_timeout');
    case 'no_room':
      return refuse('no_capacity');
    case 'gone':
      return { kind: 'answered', status: CLIENT_GONE_STATUS };
  }
}

/** For log and metrics only: the client left before there was an answer. */
const CLIENT_GONE_STATUS = 499;

/** A key whose request is not admitted is free again before the client knows. */
async function admitOrFree(
  deps: ChatDeps,
  { principal, config, exchange }: Call,
  { generationId, chat, choice, attempt }: Admissible,
): Promise<Admission | Refusal> {
  const readAgain = async (day: number) => {
    const again = await authenticate(exchange.header('authorization'), deps.keys, deps.clock.nowMs(), day);
    return isRefusal(again) ? undefined : again;
  };
  let admitted = false;
  try {
    const admission = await admit(deps, { generationId, principal, chat, choice, config, readAgain });
    admitted = !isRefusal(admission);
    return admission;
  } finally {
    if (!admitted) await attempt?.free();
  }
}

async function admitAndDeliver(deps: ChatDeps, call: Call, request: Admissible): Promise<EndpointResult> {
  const { principal, config, exchange, notes, arrivedAtMs } = call;
  const { generationId, chat, choice, attempt } = request;
  const admission = await admitOrFree(deps, call, request);
  if (isRefusal(admission)) return admission;
  notes.generationId = generationId;
  const hold = deps.accounting.open(
    {
      generationId,
      organizationId: principal.organization.id,
      keyId: principal.key.id,
      day: admission.day,
      model: choice.model.id,
      prices: choice.model.prices,
      streamed: chat.stream,
      createdAtMs: arrivedAtMs,
      ...(attempt ? { attempt } : {}),
    },
    admission,
  );
  const order: Order = {
    generationId,
    requestId: exchange.requestId,
    config,
    model: choice.model,
    chat,
    outputLimit: choice.outputLimit,
    responseHeaders: { ...admission.rateLimitHeaders, 'x-generation-id': generationId },
    createdAtSeconds: Math.floor(arrivedAtMs / 1000),
    deadlineMs: deps.clock.monotonicMs() + config.timeouts.totalMs,
    leaseLost: hold.leaseLost,
    keepsAnswer: attempt !== undefined,
  };
  return deliverOrder(deps, call, order, hold);
}

async function deliverOrder(deps: ChatDeps, call: Call, order: Order, hold: OpenHold): Promise<EndpointResult> {
  try {
    const outcome = await deps.delivery.deliver(order, call.exchange, hold);
    note(deps, call, outcome, hold);
    return { kind: 'answered', status: outcome.status, ...(outcome.refusal ? { refusal: outcome.refusal } : {}) };
  } finally {
    await hold.release();
  }
}

function note({ metrics }: ChatDeps, { notes }: Call, outcome: DeliveryOutcome, hold: OpenHold): void {
  metrics.attempts(outcome.attempts);
  if (outcome.timeToFirstEventMs !== undefined) metrics.firstEvent(outcome.timeToFirstEventMs);
  notes.attempts = outcome.attempts.map(({ provider, result }) => `${provider}:${result}`);
  notes.clientGone = outcome.clientGone;
  const charged = hold.charged();
  if (charged !== undefined) {
    notes.costNanoUsd = charged.costNanoUsd;
    notes.usage = charged.usage;
  }
  if (outcome.timeToFirstEventMs !== undefined) notes.timeToFirstEventMs = outcome.timeToFirstEventMs;
}
