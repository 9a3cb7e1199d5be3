import type { Clock } from '#core/clock.ts';
import { isRefusal, type Refusal, refuse } from '#core/errors/refusal.ts';
import type { BoundTokens } from '#core/tokenizer.ts';
import type { KeyStore } from '#database/keys/key-store.ts';
import { apiKeyIn, authenticate, checkKey } from '../access/authenticate.ts';
import type { Accounting } from '../billing/accounting.ts';
import type { IdempotencyClaim } from '../billing/idempotency/claims.ts';
import type { OpenHold } from '../billing/open-hold.ts';
import { type ChatWithModel, chooseByCount } from '../chat/choose-model.ts';
import type { DeliveryService } from '../delivery/delivery-service.ts';
import { type AdmittedRequest, doorApiOf } from '../delivery/provider/admitted-request.ts';
import { headersAtDoor } from '../doors/refusal-at-door.ts';
import type { RequestAtDoor } from '../doors/request-at-door.ts';
import type { DeliveryOutcome } from '../hold/delivery-hold.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import type { KeptReasoning } from '../reasoning/kept-reasoning.ts';
import { type ChatWithReasoning, findReasoning } from '../reasoning/request-reasoning.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type Admission, admit } from './admit.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';

export interface ServingDeps {
  readonly keys: KeyStore;
  readonly limits: LimitStore;
  readonly accounting: Accounting;
  readonly delivery: DeliveryService;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly boundTokens: BoundTokens;
  readonly reasoning: KeptReasoning;
}

/** A chat request that only the limit store can still refuse. */
export interface AdmissibleChat extends ChatWithModel {
  readonly generationId: string;
  /** Absent: the request is a chat completion. */
  readonly atDoor?: RequestAtDoor;
  /** Absent: the request has no idempotency key. */
  readonly claim?: IdempotencyClaim;
}

type AdmittedChat = Admission & Pick<ChatWithReasoning, 'reasoning'>;

/** Admits a request, or frees its idempotency key before the client gets the refusal. */
async function admitOrFree(
  deps: ServingDeps,
  { principal, config, exchange, trace }: AuthorizedRequest,
  { generationId, claim, chat: sentChat, choice: asked }: AdmissibleChat,
): Promise<AdmittedChat | Refusal> {
  const readAgain = async (day: number) => {
    const again = await authenticate(exchange.header('authorization'), deps.keys, day, 'database');
    if (isRefusal(again)) return again;
    // A new ledger epoch may lack charges of the former one.
    const isSame = again.account.ledgerEpoch === principal.account.ledgerEpoch;
    return checkKey(again.key, deps.clock.nowMs()) ?? (isSame ? again : refuse('no_capacity'));
  };
  const step = trace?.step('admit');
  let admitted = false;
  try {
    const { chat, choice, reasoning } = await findReasoning(deps.reasoning, {
      ...{ chat: sentChat, choice: asked },
      organizationId: principal.organization.id,
      apiKey: apiKeyIn(exchange.header('authorization')) ?? '',
      memory: exchange.bodyMemory,
      gone: () => exchange.gone,
    });
    const admission = await admit(deps, {
      ...{ generationId, principal, chat, choice, config, readAgain },
      chooseByCount: () => chooseByCount(chat, principal, config, deps.boundTokens),
    });
    if (isRefusal(admission)) return admission;
    admitted = true;
    step?.end();
    return { ...admission, ...(reasoning ? { reasoning } : {}) };
  } catch (error) {
    deps.accounting.releaseUnknown({
      generationId,
      organizationId: principal.organization.id,
      keyId: principal.key.id,
    });
    throw error;
  } finally {
    if (!admitted) await claim?.free();
  }
}

/** Every admitted request ends in exactly one charge or one release. */
export async function admitAndDeliver(
  deps: ServingDeps,
  request: AuthorizedRequest,
  admissible: AdmissibleChat,
): Promise<EndpointResult> {
  const { principal, config, exchange, notes, arrivedAtMs, trace } = request;
  const { generationId, claim, atDoor } = admissible;
  const admission = await admitOrFree(deps, request, admissible);
  if (isRefusal(admission)) return admission;
  const { chat, choice, reasoning } = admission;
  notes.generationId = generationId;
  if (chat.metadata !== undefined) notes.metadata = chat.metadata;
  const api = doorApiOf(admissible);
  const hold = deps.accounting.open(
    {
      generationId,
      organizationId: principal.organization.id,
      keyId: principal.key.id,
      day: admission.day,
      model: choice.model.id,
      ...(chat.user === undefined ? {} : { user: chat.user }),
      ...(api === undefined ? {} : { api }),
      priceTable: choice.model.priceTable,
      ...(choice.model.own === undefined ? {} : { ownTable: choice.model.own.priceTable }),
      ...(chat.serviceTier === undefined ? {} : { askedTier: chat.serviceTier }),
      streamed: chat.stream,
      createdAtMs: arrivedAtMs,
      mostOutputTokens: chat.completions * choice.heldOutputTokens,
      holdNanoUsd: admission.holdNanoUsd,
      totalTimeoutMs: admission.totalTimeoutMs,
      ...(claim ? { claim } : {}),
    },
    trace,
  );
  const admitted: AdmittedRequest = {
    generationId,
    requestId: exchange.requestId,
    organizationId: principal.organization.id,
    config,
    model: choice.model,
    chat,
    outputLimit: choice.outputLimit,
    responseHeaders: {
      ...admission.rateLimitHeaders,
      ...headersAtDoor(atDoor?.door, exchange.requestId),
      'x-generation-id': generationId,
    },
    createdAtSeconds: Math.floor(arrivedAtMs / 1000),
    deadlineMs: deps.clock.monotonicMs() + config.timeouts.totalMs,
    mustEnd: hold.mustEnd,
    keepsResponse: claim !== undefined,
    ...(atDoor ? { atDoor } : {}),
    ...(reasoning ? { reasoning } : {}),
    trace,
  };
  return deliverAdmitted(deps, request, admitted, hold);
}

async function deliverAdmitted(
  deps: ServingDeps,
  request: AuthorizedRequest,
  admitted: AdmittedRequest,
  hold: OpenHold,
): Promise<EndpointResult> {
  const { metrics } = deps;
  const { stream } = admitted.chat;
  let firstEventMs: number | undefined;
  if (stream) metrics.streamStarted();
  try {
    const outcome = await deps.delivery.deliver(admitted, request.exchange, hold);
    firstEventMs = outcome.firstEventMs;
    note(deps, request, outcome, hold);
    return { kind: 'responded', status: outcome.status, ...(outcome.refusal ? { refusal: outcome.refusal } : {}) };
  } finally {
    if (stream) metrics.streamEnded(firstEventMs);
    await hold.release();
  }
}

function note({ metrics }: ServingDeps, { notes }: AuthorizedRequest, outcome: DeliveryOutcome, hold: OpenHold): void {
  metrics.attempts(outcome.attempts);
  const provider = outcome.attempts.at(-1)?.provider;
  if (provider !== undefined) notes.provider = provider;
  if (provider !== undefined && outcome.usageMismatch) metrics.usageMismatched(provider, outcome.usageMismatch);
  if (provider !== undefined && outcome.hasUnreadCache) metrics.cacheUnread(provider);
  notes.attempts = outcome.attempts.map(({ provider, result }) => `${provider}:${result}`);
  notes.clientGone = outcome.clientGone;
  const charged = hold.charged;
  if (charged !== undefined) {
    notes.costNanoUsd = charged.costNanoUsd;
    if (charged.providerCostNanoUsd !== undefined) notes.providerCostNanoUsd = charged.providerCostNanoUsd;
    notes.usage = charged.usage;
  }
  if (outcome.firstEventMs !== undefined) notes.firstEventMs = outcome.firstEventMs;
}
