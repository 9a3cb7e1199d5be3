import type { Refusal } from '#core/errors/refusal.ts';
import { isObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import type { ChargedUsage, DoorStream, EndedStream, PassedStream } from '../../doors/door.ts';
import { errorAtDoor } from '../../doors/refusal-at-door.ts';
import type { RequestAtDoor } from '../../doors/request-at-door.ts';
import type { MeteredUsage } from '../../hold/delivery-hold.ts';
import { type AdmittedRequest, namesAtDoor } from '../provider/admitted-request.ts';
import type { ProviderEvent } from '../response/stream-source.ts';
import { ChunkRewriter } from './chunk-rewriter.ts';
import { DONE_EVENT, dataEvent, failureEvent } from './final-event.ts';
import { UsageFrame } from './usage-frame.ts';

export interface Charged {
  readonly metered: MeteredUsage;
  readonly costUsd: number;
}

/** Writes the events of a stream, as text, in the API that the client speaks. */
export interface StreamWriter {
  /** Characters of the stream that the writer keeps now. */
  readonly keptCharacters: number;
  /** Events for a chunk, of which `text` is the JSON. */
  chunk(text: string, completion: Completion): string;
  /** Events for chunks that only add content. `events`: those for a client of chat completions. */
  content(content: string, events: string): string;
  /** Events for the client from those of the provider that are passed on. */
  passed(events: readonly ProviderEvent[]): string;
  /** Events for output that still waits, of a stream that failed. */
  rest(): string;
  /** Last events of a complete stream. `failed` may be called after it. */
  ended(charged: Charged): string;
  /** Last events of a stream that failed. `charged` is absent where nothing was charged. */
  failed(refusal: Refusal, charged?: Charged): string;
}

/** `isPassed`: the provider's own events are passed on. */
export function streamWriter(admitted: AdmittedRequest, isPassed: boolean): GuardedWriter {
  return new GuardedWriter(unguarded(admitted, isPassed));
}

function unguarded(admitted: AdmittedRequest, isPassed: boolean): StreamWriter {
  const { atDoor } = admitted;
  if (atDoor === undefined) return new ChatWriter(admitted);
  const names = namesAtDoor(admitted, atDoor);
  return isPassed
    ? new PassedWriter(atDoor, atDoor.door.passedStream(names))
    : new DoorWriter(atDoor, atDoor.door.stream(names));
}

/** Contains a writer's bug: nothing more is written, but output before it is charged. */
export class GuardedWriter implements StreamWriter {
  readonly #writer: StreamWriter;
  bug: { readonly error: unknown } | undefined;

  constructor(writer: StreamWriter) {
    this.#writer = writer;
  }

  get keptCharacters(): number {
    return this.#writer.keptCharacters;
  }

  chunk(text: string, completion: Completion): string {
    return this.#guarded(() => this.#writer.chunk(text, completion));
  }

  content(content: string, events: string): string {
    return this.#guarded(() => this.#writer.content(content, events));
  }

  passed(events: readonly ProviderEvent[]): string {
    return this.#guarded(() => this.#writer.passed(events));
  }

  rest(): string {
    return this.#guarded(() => this.#writer.rest());
  }

  ended(charged: Charged): string {
    return this.#guarded(() => this.#writer.ended(charged));
  }

  /** Is called after a bug too, so that the client learns of the failure. */
  failed(refusal: Refusal, charged?: Charged): string {
    const { bug } = this;
    this.bug = undefined;
    const events = this.#guarded(() => this.#writer.failed(refusal, charged));
    this.bug = bug ?? this.bug;
    return events;
  }

  #guarded(write: () => string): string {
    if (this.bug !== undefined) return '';
    try {
      return write();
    } catch (error) {
      this.bug = { error };
      return '';
    }
  }
}

class ChatWriter implements StreamWriter {
  readonly keptCharacters = 0;
  readonly #admitted: AdmittedRequest;
  readonly #rewriter: ChunkRewriter;
  readonly #usageFrame: UsageFrame;

  constructor(admitted: AdmittedRequest) {
    this.#admitted = admitted;
    this.#rewriter = new ChunkRewriter(admitted.generationId, admitted.model.id);
    this.#usageFrame = new UsageFrame(admitted);
  }

  chunk(text: string, completion: Completion): string {
    const { usage, choices } = completion;
    if (isObject(usage)) {
      const alone = choices.length === 0;
      this.#usageFrame.keep(text, alone ? completion : undefined);
      return alone ? '' : dataEvent(this.#rewriter.rewriteWithoutUsage(text, completion));
    }
    // The gateway always requests the usage, so providers add `"usage":null` to other chunks. The
    // client sees it only if it requested the usage itself; other values are invalid and removed.
    const isExpected = usage === undefined || (usage === null && this.#admitted.chat.includeUsage);
    if (!isExpected) return dataEvent(this.#rewriter.rewriteWithoutUsage(text, completion));
    return dataEvent(this.#rewriter.rewrite(text, completion));
  }

  content(_content: string, events: string): string {
    return events;
  }

  passed(): string {
    return '';
  }

  rest(): string {
    return '';
  }

  ended(charged: Charged): string {
    return this.#usage(charged) + DONE_EVENT;
  }

  failed(refusal: Refusal, charged?: Charged): string {
    return (charged ? this.#usage(charged) : '') + failureEvent(this.#admitted, refusal) + DONE_EVENT;
  }

  #usage({ metered, costUsd }: Charged): string {
    return this.#admitted.chat.includeUsage ? this.#usageFrame.event(metered, costUsd) : '';
  }
}

/** Writes for a client of a door. Translated and passed-on streams end in the same way. */
abstract class WriterAtDoor<Stream extends EndedStream> implements StreamWriter {
  readonly #atDoor: RequestAtDoor;
  protected readonly stream: Stream;

  constructor(atDoor: RequestAtDoor, stream: Stream) {
    this.#atDoor = atDoor;
    this.stream = stream;
  }

  get keptCharacters(): number {
    return this.stream.keptCharacters;
  }

  abstract chunk(text: string, completion: Completion): string;
  abstract content(content: string): string;
  abstract passed(events: readonly ProviderEvent[]): string;
  abstract rest(): string;

  ended(charged: Charged): string {
    return this.stream.ended(usageOf(charged));
  }

  failed(refusal: Refusal, charged?: Charged): string {
    return this.stream.failed(errorAtDoor(refusal, this.#atDoor.door), charged && usageOf(charged));
  }
}

/** Writes the chat stream as events of a door. */
class DoorWriter extends WriterAtDoor<DoorStream> {
  chunk(_text: string, completion: Completion): string {
    return this.stream.chunk(completion);
  }

  content(content: string): string {
    return this.stream.content(content);
  }

  passed(): string {
    return '';
  }

  rest(): string {
    return this.stream.rest();
  }
}

/** Passes on events of a provider. The chat stream is only measured. */
class PassedWriter extends WriterAtDoor<PassedStream> {
  chunk(): string {
    return '';
  }

  content(): string {
    return '';
  }

  passed(events: readonly ProviderEvent[]): string {
    let out = '';
    for (const event of events)
      out += typeof event === 'string' ? this.stream.several(event) : this.stream.event(event.type, event.data);
    return out;
  }

  rest(): string {
    return '';
  }
}

function usageOf({ metered, costUsd }: Charged): ChargedUsage {
  return { usage: metered.usage, serviceTier: metered.serviceTier, costUsd };
}
