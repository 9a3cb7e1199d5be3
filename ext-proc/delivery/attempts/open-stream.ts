import type { Target } from '#core/config/gateway-config.ts';
import type { JsonObject } from '#core/json-object.ts';
import { DIALECTS } from '../provider/dialects.ts';
import type { ProviderCall } from '../provider/provider-call.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import type { SseEvent } from '../response/sse-splitter.ts';
import { hasOutput, meaningOf } from '../response/stream-event.ts';
import { StreamSource } from '../response/stream-source.ts';
import { type ActiveDelivery, isDrained, remainingMs, sinceStartMs } from './active-delivery.ts';
import { noteFirstEvent } from './attempt-span.ts';

export interface OpenedStream {
  readonly kind: 'stream';
  readonly target: Target;
  readonly call: ProviderCall;
  /** Begins with the first chunk. */
  readonly source: StreamSource;
  /** True if the provider's own events are passed on. */
  readonly isPassed: boolean;
  /** Start of the call and arrival of the first chunk, in ms since the delivery began. */
  readonly askedMs: number;
  readonly firstEventMs: number;
}

/** Stream that failed before its first output. */
export interface UnopenedStream {
  readonly kind: 'unopened';
  readonly failure: ProviderFailure;
  /** Usage that the provider had reported before, as members of a chunk. */
  readonly reported: JsonObject | undefined;
}

/** Waits for the first output of a stream. */
export async function openStream(
  delivery: ActiveDelivery,
  target: Target,
  call: ProviderCall,
  askedMs: number,
): Promise<OpenedStream | UnopenedStream> {
  const { admitted, exchange } = delivery;
  const { config, organizationId, model, atDoor } = admitted;
  const isPassed = atDoor?.passesTo(target) === true;
  const translator = DIALECTS[target.api]?.stream(isPassed);
  const translation = translator && { translator, memory: delivery.responseBudget.open(organizationId), isPassed };
  const source = new StreamSource(call, config.limits.responseBodyBytes, translation);
  const limitStream = () => {
    call.limit(remainingMs(delivery), FAILURES.deadline);
    call.limitSilence(model.timeouts.streamIdleMs, FAILURES.stall);
  };
  let firstEventMs = 0;
  const begun = await firstOutput(source, model.targets.length > 1 ? MOST_HELD : 1, () => {
    firstEventMs = sinceStartMs(delivery);
    noteFirstEvent(admitted, firstEventMs - askedMs);
    // After a client has left, the shorter limit of `leaveBefore` applies until there is output.
    if (!exchange.gone.aborted || isDrained(delivery, target)) limitStream();
  });
  if ('kind' in begun) {
    source.release();
    return { kind: 'unopened', failure: begun, reported: source.reported };
  }
  source.unread(begun);
  limitStream();
  return { kind: 'stream', target, call, source, isPassed, askedMs, firstEventMs };
}

/** Bounds of the chunks without output that are held back while another target can be called. */
const MOST_HELD = 16;
const MOST_HELD_CHARACTERS = 64 * 1024;

/**
 * Returns the events up to the first output, at most `mostHeld`, so that a provider that fails
 * before it can be followed by another. `onFirstChunk` is called at the first chunk.
 */
async function firstOutput(
  source: StreamSource,
  mostHeld: number,
  onFirstChunk: () => void,
): Promise<readonly SseEvent[] | ProviderFailure> {
  const held: SseEvent[] = [];
  let characters = 0;
  for (;;) {
    await source.read();
    for (let event = source.next(); event !== undefined; event = source.next()) {
      if (source.lost !== undefined && held.length === 0) break;
      const meaning = meaningOf(event);
      if (meaning?.kind === 'failure') return meaning;
      if (meaning === undefined) continue;
      // A stream that ends before its first chunk is malformed, even with `[DONE]`.
      if (meaning.kind === 'done' && held.length === 0) return FAILURES.malformed;
      held.push(event);
      characters += event.data.length;
      if (held.length === 1) onFirstChunk();
      const isFull = held.length === mostHeld || characters > MOST_HELD_CHARACTERS;
      if (meaning.kind === 'done' || isFull || hasOutput(meaning.completion)) return held;
    }
    if (source.lost) return held.length > 0 ? held : source.lost;
    if (source.end) return source.end.kind === 'end' ? FAILURES.malformed : source.end;
  }
}
