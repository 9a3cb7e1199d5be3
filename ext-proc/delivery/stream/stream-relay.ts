import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import { hidesInChoices } from '../../dialects/shown-members.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import type { ProducedMessage } from '../../reasoning/produced-message.ts';
import { type ActiveDelivery, isDrained, remainingMs, sinceStartMs } from '../attempts/active-delivery.ts';
import { leaveBegun } from '../attempts/leaving.ts';
import type { OpenedStream } from '../attempts/open-stream.ts';
import type { END } from '../provider/provider-call.ts';
import { FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { ChunkRepairs } from '../response/repairs.ts';
import { ResponseMeter } from '../response/response-meter.ts';
import { meaningOf } from '../response/stream-event.ts';
import { MEMORY_STEP_BYTES } from '../response/stream-source.ts';
import type { ClientStream } from './client-stream.ts';
import { ContentTemplate } from './content-template.ts';
import type { ResponseRecord } from './response-record.ts';
import { StreamWriter } from './stream-writer.ts';

/** How a provider's stream ended, with what the charge and the end of the client's stream need. */
export interface RelayedStream {
  /** Absent: the stream was complete, and all of it could be passed on. */
  readonly failure?: ProviderFailure;
  /** True if the client did not read, so that the end of the stream was not passed on to it. */
  readonly isUnread: boolean;
  /** True if the provider was cut off, because the client left or the time was over. */
  readonly isCut: boolean;
  readonly meter: ResponseMeter;
  /** The message whose reasoning is kept. Absent: none is. */
  readonly message?: ProducedMessage;
  readonly writer: StreamWriter;
  /** Absent: the client has left. */
  readonly client?: ClientStream;
  readonly lastEventMs: number;
}

/** How a read ended the stream, if it did. */
type StreamEnd = 'done' | typeof END | ProviderFailure | undefined;

/** Time to read what a provider sent while its client did not read, when the request must end. */
const CATCH_UP_MS = 1_000;

/**
 * Passes a provider's events on as they come, at the client's pace, until the stream ends. If the
 * client does not read, or the stream cannot be passed on, the provider is still read, because only
 * its usage tells what to charge. `memory`: for what the writer keeps until the end.
 */
export async function relayStream(
  delivery: ActiveDelivery,
  opened: OpenedStream,
  client: ClientStream,
  record: ResponseRecord | undefined,
  memory: MemoryReservation,
): Promise<RelayedStream> {
  const relay = new StreamRelay(delivery, opened, record, memory);
  const { gone } = delivery.exchange;
  const { mustEnd } = delivery.admitted;
  const leave = () => relay.leave();
  const endCall = () => relay.mustEnd();
  gone.addEventListener('abort', leave, { once: true });
  mustEnd.addEventListener('abort', endCall, { once: true });
  if (gone.aborted) leave();
  if (mustEnd.aborted) endCall();
  try {
    await relay.openClient(client);
    return await relay.passAll();
  } finally {
    gone.removeEventListener('abort', leave);
    mustEnd.removeEventListener('abort', endCall);
  }
}

class StreamRelay {
  readonly #delivery: ActiveDelivery;
  readonly #opened: OpenedStream;
  readonly #record: ResponseRecord | undefined;
  readonly #writer: StreamWriter;
  /** Memory of what the writer keeps. */
  readonly #memory: MemoryReservation;
  readonly #meter: ResponseMeter;
  readonly #message: ProducedMessage | undefined;
  readonly #template = new ContentTemplate();
  /** True if the template matched the last event. Events that continue it are not parsed. */
  #isAlike = false;
  readonly #repairs: ChunkRepairs;
  #client: ClientStream | undefined;
  #clientIsFull = false;
  #isWaiting = false;
  #isUnread = false;
  #reported: JsonObject | undefined;
  /** Why nothing more is sent or stored. */
  #lost: ProviderFailure | undefined;

  constructor(
    delivery: ActiveDelivery,
    opened: OpenedStream,
    record: ResponseRecord | undefined,
    memory: MemoryReservation,
  ) {
    const { admitted } = delivery;
    this.#delivery = delivery;
    this.#opened = opened;
    this.#record = record;
    this.#writer = new StreamWriter(admitted, opened.isPassed);
    this.#memory = memory;
    this.#repairs = new ChunkRepairs(admitted.generationId);
    this.#meter = new ResponseMeter(admitted);
    this.#message = admitted.reasoning?.messageOf(opened.target);
  }

  /** Handles a client that left: writing ends; the provider is read on or cancelled. */
  leave(): void {
    this.#client = undefined;
    if (!isDrained(this.#delivery, this.#opened.target)) leaveBegun(this.#delivery, this.#opened.call);
  }

  mustEnd(): void {
    const { call } = this.#opened;
    if (this.#isWaiting) call.limit(Math.min(CATCH_UP_MS, remainingMs(this.#delivery)), FAILURES.processEnds);
    else call.abort(FAILURES.processEnds);
  }

  async openClient(client: ClientStream): Promise<void> {
    const { admitted, estimateTokens, hold } = this.#delivery;
    const isOpen = await client.open(remainingMs(this.#delivery), admitted.mustEnd);
    if (!isOpen) {
      this.leave();
      return;
    }
    this.#client = client;
    client.writer = this.#writer;
    hold.delivers(this.#meter.watched(estimateTokens));
  }

  async passAll(): Promise<RelayedStream> {
    for (;;) {
      const end = this.#pass();
      if (end !== undefined) return this.#ended(end);
      if (this.#clientIsFull) await this.#awaitClient();
      await this.#opened.source.read();
    }
  }

  /** Writes all events of one read together. None waits for the next read. */
  #pass(): StreamEnd {
    const { source } = this.#opened;
    this.#takeReported();
    let out = '';
    let end: StreamEnd = source.end;
    for (;;) {
      const sequence = source.takeSequence(this.#template.matchSequence);
      if (sequence !== undefined) out += this.#continue(sequence.content, sequence.events);
      else if (this.#isAlike) out += this.#takeDeltas();
      const event = source.next();
      this.#takeReported();
      if (event === undefined) break;
      const alike = event.type === '' ? this.#template.match(event.data) : undefined;
      this.#isAlike = alike !== undefined;
      if (alike !== undefined) {
        out += this.#continue(alike.content, alike.event);
        continue;
      }
      const meaning = meaningOf(event);
      if (meaning === undefined) continue;
      if (meaning.kind !== 'chunk') {
        // If the stream ends within an event, that event is ignored: the events before it decide.
        if (meaning.kind === 'done') out += this.#finish();
        else this.#takeUsageOf(event.data);
        if (meaning !== FAILURES.malformed || source.end === undefined)
          end = meaning.kind === 'done' ? 'done' : meaning;
        break;
      }
      out += this.#takeChunk(event.data, meaning.completion);
    }
    this.#write(out + this.#writer.passed(source.takePassed()));
    return end;
  }

  /** Takes the usage that a provider of another API has reported, at its place among the chunks. */
  #takeReported(): void {
    const { reported } = this.#opened.source;
    if (reported === this.#reported) return;
    this.#reported = reported;
    this.#meter.take({ ...reported, choices: [] });
  }

  #takeUsageOf(error: string): void {
    const { usage } = parseObject(error) ?? {};
    if (isObject(usage)) this.#meter.take({ usage, choices: [] });
  }

  /** Passes on events that continue the text of the translated event before them. */
  #takeDeltas(): string {
    const deltas = this.#template.isVerbatim ? this.#opened.source.takeDeltas() : [];
    if (deltas.length === 0) return '';
    const { content, events } = this.#template.join(deltas);
    return content === '' ? '' : this.#continue(content, events);
  }

  #continue(content: string, events: string): string {
    this.#meter.takeContent(content);
    return this.#lost === undefined ? this.#writer.content(content, events) : '';
  }

  /** Stores the events, and writes them to the client. */
  #write(out: string): void {
    const { lost } = this.#opened.source;
    if (lost !== undefined) this.#lose(lost);
    if (this.#writer.bug !== undefined) this.#lose(FAILURES.malformed);
    const moreBytes = 2 * this.#writer.keptCharacters - this.#memory.heldBytes;
    if (moreBytes > 0 && !this.#memory.take(moreBytes + MEMORY_STEP_BYTES)) this.#lose(FAILURES.noRoom);
    if (out === '' || this.#lost !== undefined) return;
    // A response that cannot be stored must not be delivered.
    if (this.#record?.add(Buffer.from(out)) === false) this.#lose(FAILURES.noRoom);
    else if (this.#client && !this.#isUnread) this.#clientIsFull = !this.#client.write(out);
  }

  #lose(why: ProviderFailure): void {
    if (this.#lost !== undefined) return;
    this.#lost = why;
    this.#record?.release();
    this.#opened.source.forget();
  }

  #takeChunk(given: string, chunk: Completion): string {
    const { text, completion } = this.#repairs.repair(given, chunk);
    this.#meter.take(completion);
    this.#message?.take(completion.choices);
    const events = this.#lost === undefined ? this.#writer.chunk(text, completion) : '';
    const isChat = this.#delivery.admitted.atDoor === undefined;
    const isVerbatim = text === given && !hidesInChoices(completion);
    this.#template.learn(given, completion, isChat ? events : undefined, isVerbatim);
    return events;
  }

  /** Adds the finish reasons that a complete stream lacks. */
  #finish(): string {
    const { generationId, createdAtSeconds, model } = this.#delivery.admitted;
    const head = { id: generationId, object: 'chat.completion.chunk', created: createdAtSeconds, model: model.id };
    const events = this.#meter.unfinished().map((index) => {
      const chunk = { ...head, choices: [{ index, delta: {}, finish_reason: this.#repairs.reasonFor(index) }] };
      return this.#takeChunk(JSON.stringify(chunk), chunk);
    });
    return events.join('');
  }

  /**
   * Waits for the client (back-pressure). The provider is not read meanwhile, and its silence does
   * not count. Nothing more is written to a client that does not read in time.
   */
  async #awaitClient(): Promise<void> {
    this.#clientIsFull = false;
    if (this.#client === undefined) return;
    this.#isWaiting = true;
    const hasRead = await this.#client.drained(this.#delivery.admitted.mustEnd);
    this.#isWaiting = false;
    if (hasRead) return;
    this.#isUnread = true;
    if (this.#record === undefined) this.#opened.source.forget();
  }

  #ended(end: 'done' | typeof END | ProviderFailure): RelayedStream {
    const failure = this.#lost ?? this.#failureOf(end);
    // The meter has counted what waits.
    if (failure !== undefined && this.#lost === undefined) this.#write(this.#writer.rest());
    return {
      ...(failure === undefined ? {} : { failure }),
      isUnread: this.#isUnread,
      isCut: end === FAILURES.deadline || end === FAILURES.abandoned,
      meter: this.#meter,
      ...(this.#message === undefined ? {} : { message: this.#message }),
      writer: this.#writer,
      ...(this.#client === undefined ? {} : { client: this.#client }),
      lastEventMs: sinceStartMs(this.#delivery),
    };
  }

  #failureOf(end: 'done' | typeof END | ProviderFailure): ProviderFailure | undefined {
    if (end === 'done') return undefined;
    // Some providers omit `[DONE]`: the response is whole when every choice has a finish reason.
    const couldBeWhole = end.kind === 'end' || end === FAILURES.reset || end === FAILURES.stall;
    if (couldBeWhole && this.#meter.allFinished()) return undefined;
    return end.kind === 'end' ? FAILURES.incomplete : end;
  }
}
