import { cutText } from '#core/cut-text.ts';
import type { DeadlineTimer, HasDeadline } from '../../fairness/deadline-timer.ts';
import { GrowingBytes } from '../../fairness/growing-bytes.ts';
import { FAILURES, type ProviderFailure } from './provider-failure.ts';
import type { ProviderRequest } from './provider-request.ts';

export const END = { kind: 'end' } as const;

/** Result of a read: bytes, the end, or the failure. */
export type Read = Buffer | typeof END | ProviderFailure;

export interface ProviderHead {
  readonly kind: 'head';
  readonly status: number;
  /** Lower-case name; repeated headers joined with `, `. */
  header(name: string): string | undefined;
}

/** The connection that carries a call. */
export interface Carrier {
  /** Stops reading until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends the connection, so that the next call reads no bytes of an aborted one. */
  destroy(): void;
  /** True if the other end has taken the whole request. */
  readonly hasSentAll: boolean;
}

/** Called when the whole request was sent, unless the call failed. Absent for small requests. */
export interface SentListener {
  sent(): void;
}

/** Bytes that are read ahead. Beyond them the socket is paused. */
const READ_AHEAD_BYTES = 64 * 1024;
/** Time for the rest of the stream after a complete response. */
const TAIL_MS = 2000;

const MAX_REQUEST_ID_CHARACTERS = 200;

const NEVER = Number.POSITIVE_INFINITY;

/** One request and its response, read in order. Every wait ends by data, end, failure or limit. */
export class ProviderCall implements HasDeadline {
  /** Cleared when a connection has it or the call is over, so that its body can leave memory. */
  request: ProviderRequest | undefined;
  readonly #onSent: SentListener | undefined;
  readonly #onOver: (() => void) | undefined;
  readonly #limits: DeadlineTimer;
  #carrier: Carrier | undefined;
  #head: ProviderHead | undefined;
  readonly #bytes = new GrowingBytes();
  #wasSent = false;
  #responseBytes = 0;
  #ended = false;
  #discarding = false;
  #failure: ProviderFailure | undefined;
  #wake: (() => void) | undefined;
  #limitAtMs = NEVER;
  #limitFailure: ProviderFailure = FAILURES.deadline;
  #idleMs = NEVER;
  #silentAtMs = NEVER;
  #silenceFailure: ProviderFailure = FAILURES.stall;

  constructor(request: ProviderRequest, limits: DeadlineTimer, onSent?: SentListener) {
    this.request = request;
    this.#onSent = onSent;
    this.#onOver = request.onOver;
    this.#limits = limits;
    limits.watch(this);
  }

  /** Waits for the head. The only reader waits here; every change of state wakes it. */
  async head(): Promise<ProviderHead | ProviderFailure> {
    for (;;) {
      if (this.#head) return this.#head;
      if (this.#failure) return this.#failure;
      await this.#change();
    }
  }

  /** Returns unread input: all bytes, then the end or the failure. `undefined`: nothing yet. */
  poll(): Read | undefined {
    if (this.#bytes.length > 0) return this.#take();
    if (this.#ended) return END;
    return this.#failure;
  }

  async read(): Promise<Read> {
    for (;;) {
      const read = this.poll();
      if (read !== undefined) return read;
      if (this.#idleMs < NEVER) this.#listen();
      await this.#change();
      this.#silentAtMs = NEVER;
    }
  }

  /** Fails the call unless it has ended within `delayMs`. Replaces the previous limit. */
  limit(delayMs: number, failure: ProviderFailure): void {
    this.#limitAtMs = performance.now() + delayMs;
    this.#limitFailure = failure;
    this.#limits.lookBy(this.#limitAtMs);
  }

  /** Fails the call if its reader waits longer than this. Silence while nothing is read is fine. */
  limitSilence(idleMs: number, failure: ProviderFailure): void {
    this.#idleMs = idleMs;
    this.#silenceFailure = failure;
    // The reader is waiting already, with the previous limit.
    if (this.#silentAtMs < NEVER) this.#listen();
  }

  #listen(): void {
    this.#silentAtMs = performance.now() + this.#idleMs;
    this.#limits.lookBy(this.#silentAtMs);
  }

  get endsByMs(): number {
    return this.#limitAtMs < this.#silentAtMs ? this.#limitAtMs : this.#silentAtMs;
  }

  expire(): void {
    this.abort(this.#limitAtMs < this.#silentAtMs ? this.#limitFailure : this.#silenceFailure);
  }

  /** Aborts the call: the connection is destroyed, and Envoy resets the provider's. */
  abort(failure: ProviderFailure): void {
    if (this.#ended || this.#failure) return;
    const carrier = this.#carrier;
    this.onFailure(failure);
    carrier?.destroy();
  }

  /** Ends reading. `finished`: the rest is discarded, so that the connection is reusable. */
  release(finished: boolean): void {
    if (this.#ended || this.#failure || !finished) {
      this.abort(FAILURES.abandoned);
      return;
    }
    this.#discarding = true;
    this.#bytes.take();
    this.#idleMs = NEVER;
    this.limit(TAIL_MS, FAILURES.abandoned);
    this.#carrier?.resume();
  }

  /** True if the whole request has left this process. */
  get wasSent(): boolean {
    return this.#wasSent || this.#carrier?.hasSentAll === true;
  }

  /** Bytes of the body that arrived, if the status is a success. */
  get responseBytes(): number {
    const status = this.#head?.status ?? 0;
    return status >= 200 && status < 300 ? this.#responseBytes : 0;
  }

  /** The provider's id of the request, at most 200 characters. */
  get requestId(): string | undefined {
    const id = this.#head?.header('x-request-id') ?? this.#head?.header('request-id');
    return id && cutText(id, MAX_REQUEST_ID_CHARACTERS);
  }

  /** True after the end or a failure. */
  get isOver(): boolean {
    return this.#ended || this.#failure !== undefined;
  }

  onCarried(carrier: Carrier): void {
    this.#carrier = carrier;
    this.request = undefined;
  }

  /** True if a listener waits for the moment when the whole request has left this process. */
  get wantsSent(): boolean {
    return this.#onSent !== undefined;
  }

  onSent(): void {
    if (this.#failure === undefined) this.#onSent?.sent();
  }

  onHead(head: ProviderHead): void {
    this.#head = head;
    this.#wakeReader();
  }

  onBody(bytes: Buffer): void {
    if (this.#discarding) return;
    this.#responseBytes += bytes.length;
    this.#bytes.append(bytes, 0, bytes.length);
    if (this.#bytes.length >= READ_AHEAD_BYTES) this.#carrier?.pause();
    this.#wakeReader();
  }

  onEnd(): void {
    this.#ended = true;
    this.#over();
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#ended || this.#failure) return;
    this.#failure = failure;
    this.#over();
  }

  #over(): void {
    this.request = undefined;
    this.#wasSent = this.wasSent;
    // The carrier may serve the next call by now.
    this.#carrier = undefined;
    this.#limits.forget(this);
    this.#onOver?.();
    this.#wakeReader();
  }

  #take(): Buffer {
    const bytes = this.#bytes.take();
    if (bytes.length >= READ_AHEAD_BYTES) this.#carrier?.resume();
    return bytes;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
