import { createHash } from 'node:crypto';
import { isRefusal, refuse } from '#core/errors/refusal.ts';
import { newId } from '#core/ids.ts';
import type { Route } from '../access/route.ts';
import type { Claims, FinishedClaim, KeyedRequest } from '../billing/idempotency/claims.ts';
import { keyInFlight, readIdempotencyKey } from '../billing/idempotency/idempotency-key.ts';
import { chooseModel } from '../chat/choose-model.ts';
import type { Door } from '../doors/door.ts';
import { headersAtDoor } from '../doors/refusal-at-door.ts';
import type { RequestAtDoor } from '../doors/request-at-door.ts';
import type { ReadTurns } from '../fairness/reads-in-turns.ts';
import { type AdmissibleChat, admitAndDeliver, type ServingDeps } from './admit-and-deliver.ts';
import { type AuthorizedRequest, type EndpointResult, tooManyAtOnce } from './authorized-request.ts';
import { clientGone, type ReadingDeps, readSent } from './read-sent.ts';

export interface CompletionDeps extends ServingDeps, ReadingDeps {
  readonly claims: Claims;
  readonly turns: ReadTurns;
}

/** A request for output of a model, at any door: read, validate, claim, admit, deliver. */
export async function complete(
  deps: CompletionDeps,
  request: AuthorizedRequest,
  door: Door | undefined,
): Promise<EndpointResult> {
  const read = await readSent(deps, request, door);
  if (read.kind !== 'read') return read;
  const { chat, atDoor, body, inTurns } = read;
  const idempotencyKey = readIdempotencyKey(request.exchange.header('idempotency-key'));
  if (isRefusal(idempotencyKey)) return idempotencyKey;
  request.notes.model = chat.model;
  request.notes.streamed = chat.stream;
  if (chat.user !== undefined) request.notes.user = chat.user;
  const chosen = await chooseModel(chat, request.principal, request.config, deps.boundTokens, inTurns);
  if (chosen === undefined) return clientGone(request);
  if (isRefusal(chosen)) return chosen;
  // The balance does not include charges that wait for PostgreSQL, and a charge that neither
  // PostgreSQL nor the log can store would be lost.
  deps.accounting.ledgerChanges.sees(request.principal.account.ledgerEpoch);
  if (deps.accounting.refusesBecause() !== undefined) return refuse('no_capacity');
  const admissible = { ...chosen, generationId: newId('gen', request.arrivedAtMs), ...(atDoor ? { atDoor } : {}) };
  const claimed = idempotencyKey === undefined ? undefined : { idempotencyKey, body: claimedBody(body, request.route) };
  if (atDoor && !chosen.choice.model.targets.some((target) => atDoor.passesTo(target))) dropBody(request, atDoor, body);
  return claimed === undefined
    ? admitAndDeliver(deps, request, admissible)
    : completeOnce(deps, request, admissible, claimed);
}

/** The same body at another path is another request. */
function claimedBody(body: Buffer, { name }: Route): Buffer {
  return name === 'chat' ? body : createHash('sha256').update(`${name}\n`).update(body).digest();
}

/** Frees the client's body, because no target gets it in its original form. */
function dropBody({ exchange: { bodyMemory } }: AuthorizedRequest, atDoor: RequestAtDoor, { length }: Buffer): void {
  atDoor.drop(true);
  bodyMemory.shrinkTo(bodyMemory.heldBytes - length);
}

/** Produces one response for a key, however often it is sent (docs/interface.md, "Idempotency"). */
async function completeOnce(
  deps: CompletionDeps,
  request: AuthorizedRequest,
  admissible: AdmissibleChat,
  keyed: Pick<KeyedRequest, 'idempotencyKey' | 'body'>,
): Promise<EndpointResult> {
  request.trace?.step('claim');
  if (deps.turns.idempotency.isCrowded({ organizationId: request.principal.organization.id }))
    return tooManyAtOnce(deps);
  const claimed = await deps.claims.claim({
    organizationId: request.principal.organization.id,
    ...keyed,
    generationId: admissible.generationId,
    retentionMs: request.config.idempotencyRetentionMs,
  });
  switch (claimed.kind) {
    case 'claimed':
      return admitAndDeliver(deps, request, { ...admissible, claim: claimed.claim });
    case 'finished':
      return replay(deps, request, admissible, claimed);
    case 'running':
      return keyInFlight();
    case 'reused':
      return refuse('idempotency_key_reused');
  }
}

async function replay(
  { delivery }: CompletionDeps,
  { config, exchange, notes, principal, takeRead, trace }: AuthorizedRequest,
  { chat, atDoor }: AdmissibleChat,
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
  const stored = {
    ...finished,
    organizationId: principal.organization.id,
    streamed: chat.stream,
    timeoutMs: config.timeouts.totalMs,
    headers: headersAtDoor(atDoor?.door, exchange.requestId),
  };
  const { answered, refusal } = await delivery.replay(stored, exchange);
  notes.clientGone = exchange.gone.aborted;
  if (!answered && refusal) return refusal;
  return { kind: 'responded', status: 200, ...(refusal ? { refusal } : {}) };
}
