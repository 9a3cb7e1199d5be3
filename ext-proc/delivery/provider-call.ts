import type { Dispatcher } from 'undici';
import { FAILURES, type ProviderFailure } from './provider-failure.ts';

export interface ProviderRequest {
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Buffer;
}

export interface ProviderHead {
  readonly kind: 'head';
  readonly status: number;
  header(name: string): string | undefined;
}

export const END = { kind: 'end' } as const;

/** What is read ahead of its reader: beyond it the provider's socket is paused. */
const READ_AHEAD_BYTES = 64 * 1024;
/** A complete answer whose connection does not end: it is not waited for. */
const TAIL_MS = 2000;

const CONNECT_ERRORS: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'EACCES',
  'EAGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** One request to a provider and its answer, read in turn: head, then pieces until the end. Every wait ends by data, end, failure or a timer. */
export class ProviderCall implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | undefined;
  #head: ProviderHead | undefined;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #ended = false;
  #discarding = false;
  #failure: ProviderFailure | undefined;
  #wake: (() => void) | undefined;
  #limitTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;

  /** The one reader waits here; whoever changes the state wakes it. */
  async head(): Promise<ProviderHead | ProviderFailure> {
    for (;;) {
      if (this.#head) return this.#head;
      if (this.#failure) return this.#failure;
      await this.#change();
    }
  }

  /** All bytes that have arrived and were not read. What came before a failure is given before it. */
  async read(): Promise<Buffer | typeof END | ProviderFailure> {
    for (;;) {
      if (this.#pieceBytes > 0) return this.#take();
      if (this.#ended) return END;
      if (this.#failure) return this.#failure;
      this.#silenceTimer?.refresh();
      await this.#change();
    }
  }

  /** Fails the call unless it has ended within `delayMs`; replaces the limit before. */
  limit(delayMs: number, failure: ProviderFailure): void {
    clearTimeout(this.#limitTimer);
    this.#limitTimer = setTimeout(() => this.abort(failure), Math.max(0, delayMs));
  }

  /** Fails the call when its reader waits longer than this for a piece: silence while nobody reads is not the provider's. */
  limitSilence(idleMs: number, failure: ProviderFailure): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => {
      if (this.#wake) this.abort(failure);
    }, idleMs);
  }

  /** Gives up: the connection is destroyed, and Envoy resets the provider's. */
  abort(failure: ProviderFailure): void {
    if (this.#ended || this.#failure) return;
    this.#fail(failure);
    this.#controller?.abort(new Error(failure.result));
  }

  /** Call when nothing more will be read. `finished`: the answer was complete, what follows is read away so that the connection lives on. */
  release(finished: boolean): void {
    clearTimeout(this.#silenceTimer);
    if (this.#ended || this.#failure || !finished) {
      this.abort(FAILURES.abandoned);
      clearTimeout(this.#limitTimer);
      return;
    }
    this.#discarding = true;
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.limit(TAIL_MS, FAILURES.abandoned);
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure) controller.abort(new Error(this.#failure.result));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#head = {
      kind: 'head',
      status,
      header(name) {
        const value = headers[name];
        return Array.isArray(value) ? value.join(', ') : value;
      },
    };
    this.#wakeReader();
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#discarding || piece.length === 0) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes >= READ_AHEAD_BYTES) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(): void {
    this.#ended = true;
    clearTimeout(this.#limitTimer);
    clearTimeout(this.#silenceTimer);
    this.#wakeReader();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error ? error.code : undefined;
    if (CONNECT_ERRORS.has(code)) this.#fail(FAILURES.egressUnreachable);
    else if (code === 'UND_ERR_INVALID_ARG') this.#fail(FAILURES.unsendable);
    else this.#fail(FAILURES.reset);
  }

  #take(): Buffer {
    const [first] = this.#pieces;
    const bytes = this.#pieces.length === 1 && first ? first : Buffer.concat(this.#pieces, this.#pieceBytes);
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (this.#controller?.paused) this.#controller.resume();
    return bytes;
  }

  #fail(failure: ProviderFailure): void {
    if (this.#ended || this.#failure) return;
    this.#failure = failure;
    clearTimeout(this.#limitTimer);
    clearTimeout(this.#silenceTimer);
    this.#wakeReader();
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
