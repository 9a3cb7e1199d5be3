import { setImmediate } from 'node:timers/promises';
import type { Target } from '#core/config/gateway-config.ts';
import { parseObject } from '#core/json-object.ts';
import { hasError } from '../../dialects/completion.ts';
import { GrowingBytes } from '../../fairness/growing-bytes.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import { apiOf, namesAtDoor } from '../provider/admitted-request.ts';
import { DIALECTS } from '../provider/dialects.ts';
import type { END, ProviderCall } from '../provider/provider-call.ts';
import { bodyFailure, FAILURES, type ProviderFailure, type UnopenedResponse } from '../provider/provider-failure.ts';
import { type ProviderResponse, type ResponseNames, tooLarge } from '../response/read-response.ts';
import { SkimmedResponse } from '../response/skimmed-response.ts';
import { errorListIn } from '../response/stream-event.ts';
import { type ActiveDelivery, elapsedMs } from './active-delivery.ts';

export interface OpenedJson {
  readonly kind: 'json';
  readonly target: Target;
  readonly response: ProviderResponse;
  /** Share of the response budget. Released when the response leaves memory. */
  readonly reservation: MemoryReservation;
  /** When the call and the response began, since the delivery began. */
  readonly askedMs: number;
  readonly latencyMs: number;
}

/** Reads a whole JSON response. One that is too large is read on for its usage. */
export async function openJson(
  delivery: ActiveDelivery,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedJson | UnopenedResponse | ProviderFailure> {
  const latencyMs = elapsedMs(delivery);
  const { organizationId, config } = delivery.admitted;
  const reservation = delivery.responseBudget.open(organizationId);
  const names = namesFor(delivery, target);
  let passedOn = false;
  try {
    const whole = new GrowingBytes();
    const end = await readInto(whole, call, config.limits.responseBodyBytes, reservation);
    if (end === FAILURES.tooLarge) return await readOn(whole, call, reservation, names);
    if (end.kind === 'failure') return end;
    const response = await delivery.reader.read(whole.take(), names, organizationId);
    if (response.kind !== 'response') return response;
    passedOn = true;
    return { kind: 'json', target, reservation, askedMs, latencyMs, response };
  } finally {
    if (!passedOn) reservation.release();
  }
}

function namesFor({ admitted }: ActiveDelivery, target: Target): ResponseNames {
  const { generationId, model, atDoor } = admitted;
  const shown = atDoor && {
    api: atDoor.door.api,
    names: namesAtDoor(admitted, atDoor),
    isPassed: atDoor.passesTo(target),
  };
  const isEmbedding = apiOf(admitted) === 'embeddings';
  return { generationId, model: model.id, api: target.api, isEmbedding, ...(shown ? { shown } : {}) };
}

/** Skimmed in one turn of the event loop, in less than 1 ms. */
const SKIMMED_AT_ONCE = 64 * 1024;

/** Reads the rest of a response that is too large, for its usage. `begin`: what was read so far. */
async function readOn(
  begin: GrowingBytes,
  call: ProviderCall,
  reservation: MemoryReservation,
  names: ResponseNames,
): Promise<UnopenedResponse> {
  const skimmed = new SkimmedResponse();
  for (let at = 0; at < begin.length; at += SKIMMED_AT_ONCE) {
    skimmed.push(begin.view().subarray(at, at + SKIMMED_AT_ONCE));
    await setImmediate();
  }
  begin.free();
  reservation.release();
  for (let read = await call.read(); Buffer.isBuffer(read); read = await call.read()) skimmed.push(read);
  return tooLarge(skimmed.members, names);
}

/** Most of an error that is read. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

/**
 * Describes a JSON response to a stream request: an error with a success status, or an invalid
 * response.
 */
export async function errorInJson(call: ProviderCall, { api }: Target): Promise<ProviderFailure> {
  const text = await readError(call);
  if (typeof text !== 'string') return text === FAILURES.tooLarge ? FAILURES.malformed : text;
  const said = parseObject(text);
  const value = said && (DIALECTS[api]?.response(said) ?? said);
  if (value === undefined) return errorListIn(text) ?? FAILURES.malformed;
  return hasError(value) ? bodyFailure(value) : FAILURES.malformed;
}

/** Reads the body of an error. */
export async function readError(call: ProviderCall): Promise<string | ProviderFailure> {
  const whole = new GrowingBytes();
  const end = await readInto(whole, call, MAX_ERROR_BODY_BYTES);
  return end.kind === 'end' ? whole.view().toString() : end;
}

/** Reads until the end, a failure or the limit, which the last piece may exceed. */
async function readInto(
  whole: GrowingBytes,
  call: ProviderCall,
  maxBytes: number,
  reservation?: MemoryReservation,
): Promise<typeof END | ProviderFailure> {
  for (;;) {
    // A small response arrives together with its head.
    const read = call.poll() ?? (await call.read());
    if (!Buffer.isBuffer(read)) return read;
    if (reservation?.take(read.length) === false) return FAILURES.noRoom;
    whole.append(read, 0, read.length);
    if (whole.length > maxBytes) return FAILURES.tooLarge;
  }
}
