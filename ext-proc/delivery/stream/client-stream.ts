import type { DeadlineTimer, HasDeadline } from '../../fairness/deadline-timer.ts';
import { settlesWithin } from '../../fairness/wait.ts';
import type { ResponseStream } from '../../transport/exchange.ts';
import { type ActiveDelivery, lastBytesMs, remainingMs } from '../attempts/active-delivery.ts';
import type { StreamWriter } from './stream-writer.ts';

type StreamedDelivery = Pick<ActiveDelivery, 'admitted' | 'exchange' | 'clock'>;

/** Comment of the event-stream format, which clients skip. */
const HEARTBEAT = ': heartbeat\n\n';

/**
 * Heartbeats are late by up to this share of their interval, so that one check of the timer serves
 * many streams: with 2,000 streams, 133 checks a second cost 19 ms, and 4 cost 0.6 ms.
 */
const GRAIN_SHARE = 1 / 64;

/**
 * The provider waits this long for a client. Bytes that were written to the client allow further
 * waiting, at the rate below. Servers give up on a connection that nobody reads, nginx after 60 s,
 * and the usage is then lost. Envoy resumes reading after 512 KiB of its buffer have been read.
 */
const UNREAD_MS = 20_000;
const SLOWEST_BYTES_PER_SECOND = 16_384;

/**
 * This much time before the deadline is reserved for reading the provider to its end without the
 * client: its usage must not be lost to a client that does not read. A short request reserves this
 * share of its time.
 */
const RESERVED_MS = 30_000;
const RESERVED_SHARE = 0.1;

/** A client that reads may use this share of the reserved time, in all waits together. */
const LATE_SHARE = 0.1;

/**
 * Client's end of a streamed response. The first event or the first heartbeat opens it. A heartbeat
 * follows each silence of `timeouts.heartbeat` since the admission, unless earlier bytes still wait
 * for the client.
 */
export class ClientStream implements HasDeadline {
  readonly #delivery: StreamedDelivery;
  readonly #heartbeats: DeadlineTimer;
  /** 0: no heartbeats. */
  readonly #everyMs: number;
  #nextMs = Number.POSITIVE_INFINITY;
  #opening: Promise<ResponseStream | undefined> | undefined;
  #stream: ResponseStream | undefined;
  #isEnded = false;
  /** Reserved time before the deadline, and how much of it the client may still use. */
  readonly #reservedMs: number;
  #lateMs: number;
  /** How long the provider may still wait for this client. */
  #allowedMs = UNREAD_MS;

  constructor(delivery: StreamedDelivery, heartbeats: DeadlineTimer) {
    const { chat, config } = delivery.admitted;
    this.#delivery = delivery;
    this.#heartbeats = heartbeats;
    this.#reservedMs = Math.min(RESERVED_MS, config.timeouts.totalMs * RESERVED_SHARE);
    this.#lateMs = this.#reservedMs * LATE_SHARE;
    this.#everyMs = chat.stream ? config.timeouts.heartbeatMs : 0;
    if (this.#everyMs === 0) return;
    heartbeats.watch(this);
    this.#waitForSilence();
  }

  /** Writes the stream, once it has begun. */
  writer: StreamWriter | undefined;

  /** True once the status 200 has been sent or is being sent. */
  get isBegun(): boolean {
    return this.#opening !== undefined;
  }

  get endsByMs(): number {
    const grainMs = this.#everyMs * GRAIN_SHARE;
    return Math.ceil(this.#nextMs / grainMs) * grainMs;
  }

  /** Sends a heartbeat. */
  expire(): void {
    if (this.#delivery.exchange.gone.aborted) {
      this.stop();
      return;
    }
    this.#waitForSilence();
    if (this.#stream !== undefined) this.#beat(this.#stream);
    else if (this.#opening === undefined)
      this.#open().then(
        (stream) => stream && this.#beat(stream),
        // A fault is reported where the first event or the end is written.
        () => undefined,
      );
  }

  stop(): void {
    this.#heartbeats.forget(this);
  }

  /** Opens the response, unless a heartbeat did. False: the client left, or it took too long. */
  async open(withinMs: number, signal?: AbortSignal): Promise<boolean> {
    const { gone } = this.#delivery.exchange;
    if (gone.aborted) return false;
    if (this.#stream !== undefined) return true;
    const opening = this.#open();
    if (await settlesWithin(opening, withinMs, signal)) return (await opening) !== undefined && !gone.aborted;
    // The transport reports a rejection.
    opening.then(
      (late) => late?.abort(),
      () => undefined,
    );
    return false;
  }

  /** Writes events. False: wait for `drained`. */
  write(events: string): boolean {
    if (this.#everyMs > 0) this.#nextMs = performance.now() + this.#everyMs;
    this.#allowedMs = Math.min(UNREAD_MS, this.#allowedMs + (1_000 * events.length) / SLOWEST_BYTES_PER_SECOND);
    return this.#stream?.write(events) ?? false;
  }

  /**
   * Waits until the client has read what was written. False: the client has not read for too long,
   * or the remaining time is reserved for reading the provider, or `signal` was aborted.
   */
  async drained(signal: AbortSignal): Promise<boolean> {
    if (this.#stream === undefined) return true;
    const freeMs = remainingMs(this.#delivery) - this.#reservedMs;
    const patienceMs = Math.min(this.#allowedMs, Math.max(0, freeMs) + this.#lateMs);
    const beganMs = this.#delivery.clock.monotonicMs();
    const inTime = await settlesWithin(this.#stream.drained(), patienceMs, signal);
    this.#allowedMs = Math.max(0, this.#allowedMs - (this.#delivery.clock.monotonicMs() - beganMs));
    const lateMs = Math.min(0, freeMs) - (remainingMs(this.#delivery) - this.#reservedMs);
    if (lateMs > 0) this.#lateMs = Math.max(0, this.#lateMs - lateMs);
    return inTime;
  }

  /** Writes the end, once. False: the client did not read it in time, and was cut off. */
  async end(last: string): Promise<boolean> {
    this.stop();
    if (this.#stream === undefined || this.#isEnded) return false;
    this.#isEnded = true;
    const inTime = await settlesWithin(this.#stream.end(Buffer.from(last)), lastBytesMs(this.#delivery));
    if (!inTime) this.#stream.abort();
    return inTime;
  }

  #waitForSilence(): void {
    this.#nextMs = performance.now() + this.#everyMs;
    this.#heartbeats.lookBy(this.endsByMs);
  }

  #beat(stream: ResponseStream): void {
    const { atDoor } = this.#delivery.admitted;
    if (!this.#isEnded && !stream.hasUnsent) stream.write(atDoor?.door.heartbeat ?? HEARTBEAT);
  }

  #open(): Promise<ResponseStream | undefined> {
    this.#opening ??= this.#openStream();
    return this.#opening;
  }

  async #openStream(): Promise<ResponseStream | undefined> {
    const { exchange, admitted } = this.#delivery;
    const headers = {
      ...admitted.responseHeaders,
      'content-type': 'text/event-stream',
      'x-generation-id': admitted.generationId,
    };
    this.#stream = await exchange.openStream({ status: 200, headers });
    return this.#stream;
  }
}
