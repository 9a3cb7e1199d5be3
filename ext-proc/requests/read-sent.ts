import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { isRefusal, refuse } from '#core/errors/refusal.ts';
import type { InTurns } from '../chat/choose-model.ts';
import type { Door } from '../doors/door.ts';
import { EMBEDDINGS_FORM } from '../doors/embeddings/embeddings-form.ts';
import type { DoorTranslator } from '../doors/reading/door-translator.ts';
import { type ReadRequest, readRequest, type SentRequest } from '../doors/reading/read-request.ts';
import { finish, type Steps } from '../fairness/steps.ts';
import type { ValidationTurns } from '../fairness/validation-turns.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { BodyBounds } from '../transport/exchange.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';

export interface ReadingDeps {
  readonly metrics: Metrics;
  readonly validationTurns: ValidationTurns;
  readonly doorTranslator: DoorTranslator;
}

/** A request with its body, and a function that runs work on it in turns with that of others. */
export interface ReadSent extends ReadRequest {
  readonly body: Buffer;
  readonly inTurns: InTurns;
}

/** Longest time for each 10 KiB of an upload, and for its end. */
const UPLOAD_STALL_MS = 10_000;
/**
 * Unfinished uploads that an organization may have beyond its concurrency. Many more would be
 * refused by that limit once they are complete.
 */
const UPLOADS_BEYOND_CONCURRENCY = 256;

/** Reads the body of a request at any door, and checks it. */
export async function readSent(
  deps: ReadingDeps,
  request: AuthorizedRequest,
  door: Door | undefined,
): Promise<ReadSent | EndpointResult> {
  request.trace?.step('read_body');
  const body = await readBody(deps, request, {
    mostUploads: request.principal.organization.concurrency + UPLOADS_BEYOND_CONCURRENCY,
    totalMs: request.config.timeouts.totalMs,
  });
  if (!Buffer.isBuffer(body)) return body;
  request.trace?.step('validate');
  const inTurns = <Result>(steps: Steps<Result>) => takeTurns(deps.validationTurns, request, body, steps);
  const read = await readRequest(door, sentRequest(request, body), deps.doorTranslator, inTurns);
  if (read === undefined) return clientGone(request);
  return isRefusal(read) ? read : { ...read, body, inTurns };
}

/** Reads the body of any request, within these bounds. */
export async function readBody(
  { metrics }: Pick<ReadingDeps, 'metrics'>,
  { exchange, config, notes, principal: { organization } }: AuthorizedRequest,
  bounds: Pick<BodyBounds, 'mostUploads' | 'totalMs'>,
): Promise<Buffer | EndpointResult> {
  const limitBytes = config.limits.requestBodyBytes;
  const result = await exchange.readBody({
    organizationId: organization.id,
    limitBytes,
    ...bounds,
    stallMs: UPLOAD_STALL_MS,
  });
  switch (result.kind) {
    case 'complete':
      return result.bytes;
    case 'too_large':
      return refuse('request_too_large', { limit: `${limitBytes} bytes` });
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

function sentRequest({ exchange, config, principal, route }: AuthorizedRequest, body: Buffer): SentRequest {
  return {
    ...(route.name === 'embeddings' ? { form: EMBEDDINGS_FORM } : {}),
    body,
    contentEncoding: exchange.header('content-encoding'),
    extraFields: config.extraRequestFields,
    organizationId: principal.organization.id,
    header: (name) => exchange.header(name),
    isGone: () => exchange.gone.aborted,
    reasoningEfforts: (model) => config.models.get(model)?.reasoningEfforts ?? [],
    memory: exchange.bodyMemory,
  };
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

export function clientGone({ notes }: Pick<AuthorizedRequest, 'notes'>): EndpointResult {
  notes.clientGone = true;
  return { kind: 'responded', status: CLIENT_GONE_STATUS };
}
