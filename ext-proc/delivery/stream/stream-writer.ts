import { envelopeOf, type Refusal } from '#core/errors/refusal.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, Door, EndedStream, PassedStream } from '../../doors/door.ts';
import { errorAtDoor } from '../../doors/refusal-at-door.ts';
import { type AdmittedRequest, namesAtDoor } from '../provider/admitted-request.ts';
import type { ProviderEvent } from '../response/stream-source.ts';
import { ChatStream } from './chat-stream.ts';

/** A stream in the client's API. If a provider's is passed on, its chat form is only measured. */
interface WrittenStream extends EndedStream, Partial<Pick<PassedStream, 'event' | 'several'>> {
  chunk?(completion: Completion, text: string): string;
  content?(content: string, events: string): string;
  rest?(): string;
}

/**
 * Writes the events of a stream for the client, as text. It contains a bug of the stream: nothing
 * more is written, but output before it is charged.
 */
export class StreamWriter {
  readonly #stream: WrittenStream;
  readonly #door: Door | undefined;
  bug: { readonly error: unknown } | undefined;

  /** `isPassed`: the provider's own events are passed on. */
  constructor(admitted: AdmittedRequest, isPassed: boolean) {
    const { atDoor } = admitted;
    this.#door = atDoor?.door;
    if (atDoor === undefined) this.#stream = new ChatStream(admitted);
    else {
      const names = namesAtDoor(admitted, atDoor);
      this.#stream = isPassed ? atDoor.door.passedStream(names) : atDoor.door.stream(names);
    }
  }

  /** Characters of the stream that are kept now. */
  get keptCharacters(): number {
    return this.#stream.keptCharacters;
  }

  /** Events for a chunk, of which `text` is the JSON. */
  chunk(text: string, completion: Completion): string {
    return this.#guarded(() => this.#stream.chunk?.(completion, text));
  }

  /** Events for chunks that only add content. `events`: those for a client of chat completions. */
  content(content: string, events: string): string {
    return this.#guarded(() => this.#stream.content?.(content, events));
  }

  /** Events for the client from those of the provider that are passed on. */
  passed(events: readonly ProviderEvent[]): string {
    const stream = this.#stream;
    return this.#guarded(() => {
      let out = '';
      for (const event of events)
        out += (typeof event === 'string' ? stream.several?.(event) : stream.event?.(event.type, event.data)) ?? '';
      return out;
    });
  }

  /** Events for output that still waits, of a stream that failed. */
  rest(): string {
    return this.#guarded(() => this.#stream.rest?.());
  }

  /** Last events of a complete stream. `failed` may be called after it. */
  ended(charged: ChargedUsage): string {
    return this.#guarded(() => this.#stream.ended(charged));
  }

  /**
   * Last events of a stream that failed, after a bug too. `charged` is absent where nothing was
   * charged.
   */
  failed(refusal: Refusal, charged?: ChargedUsage): string {
    const { bug } = this;
    this.bug = undefined;
    const events = this.#guarded(() => {
      const error = this.#door ? errorAtDoor(refusal, this.#door) : envelopeOf(refusal).error;
      return this.#stream.failed(error, charged);
    });
    this.bug = bug ?? this.bug;
    return events;
  }

  #guarded(write: () => string | undefined): string {
    if (this.bug !== undefined) return '';
    try {
      return write() ?? '';
    } catch (error) {
      this.bug = { error };
      return '';
    }
  }
}
