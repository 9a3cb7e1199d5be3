import type { END, ProviderCall } from './provider-call.ts';
import { FAILURES, type ProviderFailure } from './provider-failure.ts';
import { type EventRun, type SseEvent, SseSplitter } from './sse-splitter.ts';

/** Tool arguments and images come in single events; nothing that a model writes comes near this. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Reads a provider's stream as events: `read` waits, then all that came is taken out, then `read` again unless the stream has ended. */
export class StreamSource {
  readonly #call: ProviderCall;
  readonly #maxBytes: number;
  readonly #splitter = new SseSplitter(MAX_EVENT_BYTES);
  #bytes = 0;
  #end: typeof END | ProviderFailure | undefined;
  #first: SseEvent | undefined;

  constructor(call: ProviderCall, maxBytes: number) {
    this.#call = call;
    this.#maxBytes = maxBytes;
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
    const event = this.#first ?? this.#splitter.next();
    this.#first = undefined;
    return event;
  }

  /** Puts an event back, to be the next. */
  unread(event: SseEvent): void {
    this.#first = event;
  }

  /** The events to come that are alike in the way that `match` knows. */
  takeRun<T extends EventRun>(match: (text: string, start: number) => T | undefined): T | undefined {
    return this.#first === undefined ? this.#splitter.takeRun(match) : undefined;
  }
}
