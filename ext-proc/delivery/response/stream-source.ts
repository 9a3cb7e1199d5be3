import { NO_EVENTS, type StreamTranslator } from '../../dialects/dialect.ts';
import type { END, ProviderCall } from '../provider/provider-call.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import type { Completion } from './completion.ts';
import { type EventSequence, type SseEvent, SseSplitter } from './sse-splitter.ts';

/** Tool arguments and images come in single events; nothing that a model writes comes near this. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** A chunk, and what was parsed of it. */
export interface ReadChunk {
  readonly text: string;
  readonly completion: Completion;
}

/**
 * Reads a provider's stream as events: `read` waits, then all that came is taken out, then `read`
 * again unless the stream has ended.
 */
export class StreamSource {
  readonly #call: ProviderCall;
  readonly #maxBytes: number;
  readonly #splitter = new SseSplitter(MAX_EVENT_BYTES);
  #bytes = 0;
  #end: typeof END | ProviderFailure | undefined;
  #first: ReadChunk | undefined;
  readonly #translator: StreamTranslator | undefined;
  /** Events that the last event of the provider was translated into, and how many were taken. */
  #translated: readonly string[] = NO_EVENTS;
  #taken = 0;

  /** `translator`: of a provider that speaks another API. */
  constructor(call: ProviderCall, maxBytes: number, translator?: StreamTranslator) {
    this.#call = call;
    this.#maxBytes = maxBytes;
    this.#translator = translator;
  }

  async read(): Promise<void> {
    if (this.#splitter.isTooLarge) {
      this.#end = FAILURES.tooLarge;
      return;
    }
    const read = await this.#call.read();
    if (!Buffer.isBuffer(read)) {
      this.#end = read;
      if (read.kind === 'end') this.#splitter.finish();
      return;
    }
    this.#bytes += read.length;
    if (this.#bytes > this.#maxBytes) this.#end = FAILURES.tooLarge;
    else this.#splitter.push(read);
  }

  /** How the stream ended, with the last read. */
  get end(): typeof END | ProviderFailure | undefined {
    return this.#end;
  }

  next(): SseEvent | undefined {
    return this.#translator === undefined ? this.#splitter.next() : this.#nextTranslated(this.#translator);
  }

  #nextTranslated(translator: StreamTranslator): SseEvent | undefined {
    while (this.#taken === this.#translated.length) {
      const event = this.#splitter.next();
      if (event === undefined) return undefined;
      this.#translated = translator.take(event.type, event.data);
      this.#taken = 0;
    }
    return { type: '', data: this.#translated[this.#taken++] ?? '' };
  }

  /** Puts the first chunk back, which was read to see if the provider responds at all. */
  unread(first: ReadChunk): void {
    this.#first = first;
  }

  /** Returns the chunk that was put back, once. */
  takeFirst(): ReadChunk | undefined {
    const first = this.#first;
    this.#first = undefined;
    return first;
  }

  /** The events to come that are alike in the way that `match` knows. */
  takeSequence<T extends EventSequence>(match: (text: string, start: number) => T | undefined): T | undefined {
    return this.#translator === undefined ? this.#splitter.takeSequence(match) : undefined;
  }
}
