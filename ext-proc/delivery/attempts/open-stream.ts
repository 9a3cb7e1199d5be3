import type { Target } from '#core/config/gateway-config.ts';
import type { JsonObject } from '#core/json-object.ts';
import { DIALECTS } from '../provider/dialects.ts';
import type { ProviderCall } from '../provider/provider-call.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { meaningOf } from '../response/stream-event.ts';
import { type ReadChunk, StreamSource } from '../response/stream-source.ts';
import { type ActiveDelivery, elapsedMs, remainingMs } from './active-delivery.ts';
import { noteFirstEvent } from './attempt-span.ts';

export interface OpenedStream {
  readonly kind: 'stream';
  readonly target: Target;
  readonly call: ProviderCall;
  /** Begins with the first event that is a chunk. */
  readonly source: StreamSource;
  /** True if the provider's own events are passed on. */
  readonly isPassed: boolean;
  /** Start of the call and arrival of the first chunk, in ms since the delivery began. */
  readonly askedMs: number;
  readonly latencyMs: number;
}

/** Stream that failed before its first chunk. */
export interface UnopenedStream {
  readonly kind: 'unopened';
  readonly failure: ProviderFailure;
  /** Usage that the provider had reported before, as members of a chunk. */
  readonly reported: JsonObject | undefined;
}

/** Waits for the first chunk of a stream. */
export async function openStream(
  delivery: ActiveDelivery,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedStream | UnopenedStream> {
  const { config, organizationId, model, atDoor } = delivery.admitted;
  const translator = DIALECTS[target.api]?.stream();
  const isPassed = atDoor?.passesTo(target) === true;
  const translation = translator && { translator, memory: delivery.responseBudget.open(organizationId), isPassed };
  const source = new StreamSource(call, config.limits.responseBodyBytes, translation);
  const first = await firstChunk(source);
  if (first.kind !== 'chunk') {
    source.release();
    return { kind: 'unopened', failure: first, reported: source.reported };
  }
  source.unread(first);
  call.limit(remainingMs(delivery), FAILURES.deadline);
  call.limitSilence(model.timeouts.streamIdleMs, FAILURES.stall);
  const latencyMs = elapsedMs(delivery);
  noteFirstEvent(delivery.admitted, latencyMs - askedMs);
  return { kind: 'stream', target, call, source, isPassed, askedMs, latencyMs };
}

async function firstChunk(source: StreamSource): Promise<(ReadChunk & { kind: 'chunk' }) | ProviderFailure> {
  for (;;) {
    await source.read();
    for (let event = source.next(); event !== undefined && source.lost === undefined; event = source.next()) {
      const meaning = meaningOf(event);
      if (meaning?.kind === 'failure') return meaning;
      // A stream that ends before its first chunk is malformed, even with `[DONE]`.
      if (meaning?.kind === 'done') return FAILURES.malformed;
      if (meaning === undefined) continue;
      return { kind: 'chunk', text: event.data, completion: meaning.completion };
    }
    if (source.lost) return source.lost;
    if (source.end) return source.end.kind === 'end' ? FAILURES.malformed : source.end;
  }
}
