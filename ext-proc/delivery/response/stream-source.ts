import type { JsonObject } from '#core/json-object.ts';
import { type FurtherDelta, NO_EVENTS, type StreamTranslator } from '../../dialects/dialect.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import type { END, ProviderCall } from '../provider/provider-call.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { type EventSequence, type SseEvent, SseSplitter } from './sse-splitter.ts';

/** Largest event. Even whole tool arguments and images in one event are far smaller. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Memory for a translator's state is reserved in such steps, with two bytes for a character. */
export const MEMORY_STEP_BYTES = 64 * 1024;

/** Event of a provider, or the text of several of them. */
export type ProviderEvent = SseEvent | string;

/** Translator of a stream in another API, and the memory for the state that it keeps. */
export interface StreamTranslation {
  readonly translator: StreamTranslator;
  readonly memory: MemoryReservation;
  /** True if the provider's own events are passed on. They are kept until `takePassed`. */
  readonly isPassed: boolean;
}

const NO_DELTAS: readonly FurtherDelta[] = [];
const EVENT_END = '\n\n';

/**
 * Reads a provider's stream as events. Call `read`, which waits for bytes, then `next` until it
 * returns `undefined`; repeat until the stream has ended.
 */
export class StreamSource {
  readonly #call: ProviderCall;
  readonly #maxBytes: number;
  readonly #splitter = new SseSplitter(MAX_EVENT_BYTES);
  #bytes = 0;
  #end: typeof END | ProviderFailure | undefined;
  #lost: ProviderFailure | undefined;
  /** Events that were put back, the last one first. */
  readonly #unread: SseEvent[] = [];
  readonly #translation: StreamTranslation | undefined;
  /** Translation of the provider's last event, and how many of its events `next` has returned. */
  #translated: readonly string[] = NO_EVENTS;
  #taken = 0;
  /** Events to pass on, and their length in characters. */
  #passed: ProviderEvent[] = [];
  #passedCharacters = 0;
  /** Text before the data of the last event. Events that continue it begin with the same text. */
  #lead = '';

  /** `translation`: of a provider that speaks another API. */
  constructor(call: ProviderCall, maxBytes: number, translation?: StreamTranslation) {
    this.#call = call;
    this.#maxBytes = maxBytes;
    this.#translation = translation;
  }

  async read(): Promise<void> {
    if (this.#end !== undefined) return;
    if (this.#splitter.isTooLarge) {
      this.#lose(FAILURES.tooLarge);
      this.#splitter.skipEvent();
    }
    const read = await this.#call.read();
    if (!Buffer.isBuffer(read)) {
      this.#end = read;
      if (read.kind === 'end') this.#splitter.finish();
      return;
    }
    this.#bytes += read.length;
    if (this.#bytes > this.#maxBytes) this.#lose(FAILURES.tooLarge);
    this.#splitter.push(read);
  }

  /** How the stream ended. `undefined`: it has not ended. */
  get end(): typeof END | ProviderFailure | undefined {
    return this.#end;
  }

  /** Why events were lost: too large, or no memory. Later events are read only for usage. */
  get lost(): ProviderFailure | undefined {
    return this.#lost;
  }

  /** Usage and tier that a provider of another API has reported; a new object after each report. */
  get reported(): JsonObject | undefined {
    return this.#translation?.translator.reported;
  }

  next(): SseEvent | undefined {
    if (this.#unread.length > 0) return this.#unread.pop();
    return this.#translation === undefined ? this.#splitter.next() : this.#nextTranslated(this.#translation);
  }

  /** Drops all state but the usage, which alone is needed from now on. */
  forget(): void {
    this.#translation?.translator.forget?.();
    this.release();
  }

  #lose(why: ProviderFailure): void {
    this.#lost ??= why;
    this.forget();
  }

  /** Frees the memory of the translation. */
  release(): void {
    this.#translation?.memory.release();
  }

  /** Returns and clears the events to pass on, up to the one that was read last. */
  takePassed(): readonly ProviderEvent[] {
    const passed = this.#passed;
    if (passed.length > 0) this.#passed = [];
    this.#passedCharacters = 0;
    return passed;
  }

  #pass(event: ProviderEvent): void {
    if (this.#translation?.isPassed !== true || this.#lost !== undefined) return;
    this.#passed.push(event);
    this.#passedCharacters += typeof event === 'string' ? event.length : event.data.length;
  }

  #nextTranslated({ translator, memory }: StreamTranslation): SseEvent | undefined {
    while (this.#taken === this.#translated.length) {
      const event = this.#splitter.next();
      if (event === undefined) return undefined;
      this.#pass(event);
      this.#translated = translator.take(event.type, event.data);
      this.#lead = event.type === '' ? 'data: ' : `event: ${event.type}\ndata: `;
      this.#taken = 0;
      const moreBytes = 2 * (translator.keptCharacters + this.#passedCharacters) - memory.heldBytes;
      if (moreBytes > 0 && !memory.take(moreBytes + MEMORY_STEP_BYTES)) this.#lose(FAILURES.noRoom);
    }
    return { type: '', data: this.#translated[this.#taken++] ?? '' };
  }

  /** Puts back the events so far, which were read to find out whether the provider responds. */
  unread(events: readonly SseEvent[]): void {
    this.#unread.push(...events.toReversed());
  }

  /** Consumes the next events whose chunks differ from the last one in text and padding only. */
  takeDeltas(): readonly FurtherDelta[] {
    const translator = this.#translation?.translator;
    if (translator === undefined || this.#unread.length > 0 || this.#taken < this.#translated.length) return NO_DELTAS;
    const sequence = this.#splitter.takeSequence((text, start) => deltasIn(text, start, this.#lead, translator));
    if (sequence === undefined) return NO_DELTAS;
    this.#pass(sequence.text);
    return sequence.deltas;
  }

  /** Consumes the events that `match` recognizes next. Translated streams have none. */
  takeSequence<T extends EventSequence>(match: (text: string, start: number) => T | undefined): T | undefined {
    const isVerbatim = this.#translation === undefined && this.#unread.length === 0;
    return isVerbatim ? this.#splitter.takeSequence(match) : undefined;
  }
}

interface DeltaSequence extends EventSequence {
  readonly text: string;
  readonly deltas: readonly FurtherDelta[];
}

function deltasIn(text: string, start: number, lead: string, translator: StreamTranslator): DeltaSequence | undefined {
  const deltas: FurtherDelta[] = [];
  let end = start;
  for (;;) {
    const dataStart = end + lead.length;
    if (text.slice(end, dataStart) !== lead) break;
    const delta = translator.further(text, dataStart);
    if (delta === undefined || text.slice(delta.end, delta.end + EVENT_END.length) !== EVENT_END) break;
    deltas.push(delta);
    end = delta.end + EVENT_END.length;
  }
  return deltas.length === 0 ? undefined : { end, deltas, text: text.slice(start, end) };
}
