import { asCompletion, type Completion, hasError } from './completion.ts';
import { parseObject } from './json-object.ts';
import { END, type ProviderCall } from './provider-call.ts';
import { bodyFailure, FAILURES, type ProviderFailure } from './provider-failure.ts';
import { type SseEvent, SseSplitter } from './sse-splitter.ts';

/** What one event of a provider's stream means. */
export type StreamEvent =
  | { readonly kind: 'chunk'; readonly text: string; readonly completion: Completion }
  | { readonly kind: 'done' }
  | ProviderFailure;

/** The events of one read, and how the stream ended if it did with them. */
export interface Batch {
  readonly events: readonly StreamEvent[];
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
    if (read === END) return { events: interpret(this.#splitter.finish()), end: END };
    if (!Buffer.isBuffer(read)) return { events: [], end: read };
    this.#bytes += read.length;
    const events = this.#splitter.push(read);
    if (events === 'too_large' || this.#bytes > this.#maxBytes) return { events: [], end: FAILURES.tooLarge };
    return { events: interpret(events) };
  }
}

function interpret(events: readonly SseEvent[]): StreamEvent[] {
  const meant: StreamEvent[] = [];
  for (const event of events) {
    const one = meaningOf(event);
    if (one) meant.push(one);
  }
  return meant;
}

/** `undefined`: an object that is neither a chunk nor an error, such as a ping. Clients could not read it either. */
function meaningOf({ type, data }: SseEvent): StreamEvent | undefined {
  if (data === '[DONE]') return { kind: 'done' };
  const value = parseObject(data);
  if (value === undefined)
    return data.trim() === '[DONE]' ? { kind: 'done' } : type === 'error' ? bodyFailure({}) : FAILURES.malformed;
  if (type === 'error' || hasError(value)) return bodyFailure(value);
  const completion = asCompletion(value);
  return completion && { kind: 'chunk', text: data, completion };
}
