import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { isRefusal, refuse } from '#core/errors/refusal.ts';
import { newId } from '#core/ids.ts';
import type { Claims, FinishedClaim } from '../billing/idempotency/claims.ts';
import { keyInFlight, readIdempotencyKey } from '../billing/idempotency/idempotency-key.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import { chooseModel } from '../chat/choose-model.ts';
import { readChatRequest } from '../chat/read-chat-request.ts';
import type { ReadTurns } from '../fairness/reads-in-turns.ts';
import { finish, type Steps } from '../fairness/steps.ts';
import type { ValidationTurns } from '../fairness/validation-turns.ts';
import { type AdmissibleChat, admitAndDeliver, type ServingDeps } from './admit-and-deliver.ts';
import { type AuthorizedRequest, type EndpointResult, tooManyAtOnce } from './authorized-request.ts';

export interface ChatDeps extends ServingDeps {
  readonly claims: Claims;
  readonly turns: ReadTurns;
  readonly validationTurns: ValidationTurns;
}

/** Longest time for each 10 KiB of an upload, and for its end. */
const UPLOAD_STALL_MS = 10_000;
/**
 * Unfinished uploads of an organization beyond its concurrency. Many more would be refused for it
 * once they are whole.
 */
const UPLOADS_BEYOND_CONCURRENCY = 256;

/** `POST /v1/chat/completions`: read, validate, claim, admit, deliver. */
export async function completeChat(deps: ChatDeps, request: AuthorizedRequest): Promise<EndpointResult> {
  request.trace?.step('read_body');
  const body = await readBody(deps, request);
  if (!Buffer.isBuffer(body)) return body;
  request.trace?.step('validate');
  const inTurns = <Result>(steps: Steps<Result>) => takeTurns(deps.validationTurns, request, body, steps);
  const encoding = request.exchange.header('content-encoding');
  const chat = await inTurns(readChatRequest(body, encoding, request.config.extraRequestFields));
  if (chat === undefined) return clientGone(request);
  if (isRefusal(chat)) return chat;
  const idempotencyKey = readIdempotencyKey(request.exchange.header('idempotency-key'));
  if (isRefusal(idempotencyKey)) return idempotencyKey;
  request.notes.model = chat.model;
  request.notes.streamed = chat.stream;
  if (chat.user !== undefined) request.notes.user = chat.user;
  if (chat.metadata !== undefined) request.notes.metadata = chat.metadata;
  const chosen = await chooseModel(chat, request.principal, request.config, deps.boundTokens, inTurns);
  if (chosen === undefined) return clientGone(request);
  if (isRefusal(chosen)) return chosen;
  // The balance lacks the charges that wait for PostgreSQL, and a charge that nothing can store
  // would be lost.
  deps.accounting.sees(request.principal.account.ledgerEpoch);
  if (deps.accounting.refusesBecause() !== undefined) return refuse('no_capacity');
  const admissible = { ...chosen, generationId: newId('gen', request.arrivedAtMs) };
  return idempotencyKey === undefined
    ? admitAndDeliver(deps, request, admissible)
    : completeOnce(deps, request, admissible, idempotencyKey, body);
}

/** Bodies of up to this length are validated at once, which takes a millisecond at worst. */
const SMALL_BODY_BYTES = 32 * 1024;

function takeTurns<Result>(
  turns: ValidationTurns,
  { principal, exchange }: AuthorizedRequest,
  body: Buffer,
  steps: Steps<Result>,
): Result | Promise<Result | undefined> {
  if (body.length <= SMALL_BODY_BYTES) return finish(steps);
  return turns.run(principal.organization.id, steps, () => exchange.gone);
}

/** One response for a key, however often it is requested (docs/interface.md, "Idempotency"). */
async function completeOnce(
  deps: ChatDeps,
  request: AuthorizedRequest,
  admissible: AdmissibleChat,
  idempotencyKey: string,
  body: Buffer,
): Promise<EndpointResult> {
  request.trace?.step('claim');
  if (deps.turns.idempotency.isCrowded({ organizationId: request.principal.organization.id }))
    return tooManyAtOnce(deps);
  const claimed = await deps.claims.claim({
    organizationId: request.principal.organization.id,
    idempotencyKey,
    body,
    generationId: admissible.generationId,
    retentionMs: request.config.idempotencyRetentionMs,
  });
  switch (claimed.kind) {
    case 'claimed':
      return admitAndDeliver(deps, request, { ...admissible, claim: claimed.claim });
    case 'finished':
      return replay(deps, request, admissible.chat, claimed);
    case 'running':
      return keyInFlight();
    case 'reused':
      return refuse('idempotency_key_reused');
  }
}

async function replay(
  { delivery }: ChatDeps,
  { config, exchange, notes, principal, takeRead, trace }: AuthorizedRequest,
  chat: ChatRequest,
  finished: FinishedClaim,
): Promise<EndpointResult> {
  trace?.step('replay');
  const limited = await takeRead();
  if (limited) return limited;
  notes.generationId = finished.generationId;
  notes.replayed = true;
  // The request must not stay in memory while a slow client reads the response.
  chat.keepText(0);
  exchange.bodyMemory.release();
  const organizationId = principal.organization.id;
  const stored = { ...finished, organizationId, streamed: chat.stream, timeoutMs: config.timeouts.totalMs };
  const { answered, refusal } = await delivery.replay(stored, exchange);
  notes.clientGone = exchange.gone.aborted;
  if (!answered && refusal) return refusal;
  return { kind: 'responded', status: 200, ...(refusal ? { refusal } : {}) };
}

async function readBody(
  { metrics }: Pick<ChatDeps, 'metrics'>,
  { exchange, config, notes, principal: { organization } }: AuthorizedRequest,
): Promise<Buffer | EndpointResult> {
  const limitBytes = config.limits.requestBodyBytes;
  const result = await exchange.readBody({
    organizationId: organization.id,
    limitBytes,
    mostUploads: organization.concurrency + UPLOADS_BEYOND_CONCURRENCY,
    stallMs: UPLOAD_STALL_MS,
    totalMs: config.timeouts.totalMs,
  });
  switch (result.kind) {
    case 'complete':
      return result.bytes;
    case 'too_large':
      return refuse('request_too_large', { limit_bytes: limitBytes });
    case 'timeout':
      return refuse('request_timeout', { problem: 'The request body did not arrive in time.' });
    case 'too_many':
      metrics.admissionRefused('uploads');
      return refuse('rpm_exceeded', { problem: 'Too many unfinished uploads at once.' }, { retryAfterSeconds: 1 });
    case 'no_memory':
      return refuse('no_capacity');
    case 'gone':
      return clientGone({ notes });
  }
}

function clientGone({ notes }: Pick<AuthorizedRequest, 'notes'>): EndpointResult {
  notes.clientGone = true;
  return { kind: 'responded', status: CLIENT_GONE_STATUS };
}
