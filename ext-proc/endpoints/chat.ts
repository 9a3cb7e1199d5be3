import { CLIENT_GONE_STATUS } from '../../core/errors/catalogue.ts';
import { isRefusal, refuse } from '../../core/errors/refusal.ts';
import { newId } from '../../core/ids.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import { chooseModel } from '../chat/count-input.ts';
import type { JudgingTurns } from '../chat/judging-turns.ts';
import { readChatRequest } from '../chat/read-chat-request.ts';
import type { Claims, FinishedClaim } from '../idempotency/claims.ts';
import { keyInFlight, readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import { finish, type Steps } from '../shared-budget/steps.ts';
import type { ReadTurns } from '../turns/reads-in-turns.ts';
import { type Admissible, admitAndDeliver, type ServingDeps } from './admit-and-deliver.ts';
import { type Call, type EndpointResult, tooManyAtOnce } from './call.ts';

export interface ChatDeps extends ServingDeps {
  readonly claims: Claims;
  readonly turns: ReadTurns;
  readonly judging: JudgingTurns;
}

/** Longest silence inside an upload. */
const BODY_IDLE_MS = 30_000;

/**
 * `POST /v1/chat/completions`: read, validate, claim, admit, deliver; the hold ends in exactly one
 * charge or one release.
 */
export async function completeChat(deps: ChatDeps, call: Call): Promise<EndpointResult> {
  call.trace?.step('read_body');
  const body = await readBody(call);
  if (!Buffer.isBuffer(body)) return body;
  call.trace?.step('validate');
  const inTurns = <Result>(steps: Steps<Result>) => takeTurns(deps.judging, call, body, steps);
  const chat = await inTurns(readChatRequest(body, call.exchange.header('content-encoding')));
  if (chat === undefined) return clientGone(call);
  if (isRefusal(chat)) return chat;
  const idempotencyKey = readIdempotencyKey(call.exchange.header('idempotency-key'));
  if (isRefusal(idempotencyKey)) return idempotencyKey;
  call.notes.model = chat.model;
  call.notes.streamed = chat.stream;
  const chosen = await chooseModel(chat, call.principal, call.config, deps.boundTokens, inTurns);
  if (chosen === undefined) return clientGone(call);
  if (isRefusal(chosen)) return chosen;
  // Charges that PostgreSQL could not take yet are not in any balance it reports, and one that
  // nothing takes would be lost.
  deps.accounting.sees(call.principal.account.ledgerEpoch);
  if (deps.accounting.refusesBecause() !== undefined) return refuse('no_capacity');
  const request = { ...chosen, generationId: newId('gen', call.arrivedAtMs) };
  return idempotencyKey === undefined
    ? admitAndDeliver(deps, call, request)
    : completeOnce(deps, call, request, idempotencyKey, body);
}

/** Work on a body of up to this length takes a millisecond at worst, and goes at once. */
const SMALL_BODY_BYTES = 32 * 1024;

function takeTurns<Result>(
  judging: JudgingTurns,
  { principal, exchange }: Call,
  body: Buffer,
  steps: Steps<Result>,
): Result | Promise<Result | undefined> {
  if (body.length <= SMALL_BODY_BYTES) return finish(steps);
  return judging.run(principal.organization.id, steps, () => exchange.gone);
}

/** One response for a key, however often it is requested (docs/interface.md, "Idempotency"). */
async function completeOnce(
  deps: ChatDeps,
  call: Call,
  request: Admissible,
  idempotencyKey: string,
  body: Buffer,
): Promise<EndpointResult> {
  call.trace?.step('claim');
  if (deps.turns.idempotency.isCrowded({ organizationId: call.principal.organization.id })) return tooManyAtOnce(deps);
  const claimed = await deps.claims.claim({
    organizationId: call.principal.organization.id,
    idempotencyKey,
    body,
    generationId: request.generationId,
    retentionMs: call.config.idempotencyRetentionMs,
  });
  switch (claimed.kind) {
    case 'claimed':
      return admitAndDeliver(deps, call, { ...request, claim: claimed.claim });
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
  { config, exchange, notes, principal, takeRead, trace }: Call,
  chat: ChatRequest,
  finished: FinishedClaim,
): Promise<EndpointResult> {
  trace?.step('replay');
  const limited = await takeRead();
  if (limited) return limited;
  notes.generationId = finished.generationId;
  notes.replayed = true;
  // A client that does not read its answer must not keep its own request in memory, too.
  chat.keepText(0);
  exchange.bodyRoom.release();
  const organizationId = principal.organization.id;
  const order = { ...finished, organizationId, streamed: chat.stream, timeoutMs: config.timeouts.totalMs };
  const { answered, refusal } = await delivery.replay(order, exchange);
  notes.clientGone = exchange.gone.aborted;
  if (!answered && refusal) return refusal;
  return { kind: 'answered', status: 200, ...(refusal ? { refusal } : {}) };
}

async function readBody({ exchange, config, notes, principal }: Call): Promise<Buffer | EndpointResult> {
  const limitBytes = config.limits.requestBodyBytes;
  const result = await exchange.readBody({
    organizationId: principal.organization.id,
    limitBytes,
    idleMs: BODY_IDLE_MS,
    totalMs: config.timeouts.totalMs,
  });
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
      return clientGone({ notes });
  }
}

function clientGone({ notes }: Pick<Call, 'notes'>): EndpointResult {
  notes.clientGone = true;
  return { kind: 'answered', status: CLIENT_GONE_STATUS };
}
