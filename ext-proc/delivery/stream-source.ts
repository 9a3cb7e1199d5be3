import type { END, ProviderCall } from './provider-call.ts';
import { FAILURES, type ProviderFailure } from './provider-failure.ts';
import { type SseEvent, SseSplitter } from './sse-splitter.ts';

/** The events of one read, and how the stream ended if it did with them. */
export interface Batch {
  readonly events: readonly SseEvent[];
  readonly end?: typeof END | ProviderFailure;
}

/** Tool arguments and images come in single events; nothing that a model writes comes near this. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Reads a provider's stream as events. */
export class StreamSource {
  readonly #call: ProviderCall;
  readonly #maxBytes: number;
  readonly #splitter = new SseSplitter(MAX_EVENT_BYTES);
  #bytes = 0;

  constructor(call: ProviderCall, maxBytes: number) {
    this.#call = call;
    this.#maxBytes = maxBytes;
  }

  async next(): Promise<Batch> {
    const read = await this.#call.read();
    if (!Buffer.isBuffer(read)) return { events: read.kind === 'end' ? this.#splitter.finish() : [], end: read };
    this.#bytes += read.length;
    if (this.#bytes > this.#maxBytes) return { events: [], end: FAILURES.tooLarge };
    const events = this.#splitter.push(read);
    return events === 'too_large' ? { events: [], end: FAILURES.tooLarge } : { events };
  }
}
