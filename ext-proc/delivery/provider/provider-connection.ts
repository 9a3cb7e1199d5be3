import { connect, type Socket } from 'node:net';
import type { Carrier, ProviderCall } from './provider-call.ts';
import { FAILURES } from './provider-failure.ts';
import type { ProviderRequest } from './provider-request.ts';
import type { ResponseHead } from './response-head.ts';
import { ResponseReader, type ResponseSink } from './response-reader.ts';

/** Who keeps the connections. */
export interface ConnectionKeeper {
  /** It can carry the next call. */
  onIdle(connection: ProviderConnection): void;
  /** It is gone; told once. */
  onClosed(connection: ProviderConnection): void;
}

const CONNECT_TIMEOUT_MS = 2000;

/** Below this, copying a body behind its head costs less than a write of several pieces. */
const JOINED_BODY_BYTES = 16 * 1024;

/** One for all connections: what is read is taken out of it before the next read. A buffer for each read would cost more than the reading. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One HTTP/1.1 connection to Envoy's egress socket, with one call at a time. Whatever goes wrong with it ends it, and its call. */
export class ProviderConnection implements Carrier, ResponseSink {
  /** Since when it carries nothing, on `performance.now()`. */
  idleSinceMs = 0;
  readonly #keeper: ConnectionKeeper;
  readonly #socket: Socket;
  readonly #reader = new ResponseReader(this);
  #call: ProviderCall | undefined;
  #isConnected = false;
  #isPaused = false;
  #hasAnswered = false;
  /** Of what was sent to it Envoy has left something unread: that is when Linux ends a Unix socket with an error. */
  #isUnread = false;

  constructor(socketPath: string, keeper: ConnectionKeeper) {
    this.#keeper = keeper;
    const callback = (length: number) => this.#read(READ_BUFFER.subarray(0, length));
    this.#socket = connect({ path: socketPath, onread: { buffer: READ_BUFFER, callback } });
    const tooSlow = setTimeout(() => this.destroy(), CONNECT_TIMEOUT_MS);
    this.#socket.on('connect', () => {
      this.#isConnected = true;
      clearTimeout(tooSlow);
    });
    this.#socket.on('end', () => {
      if (!this.#reader.finish()) this.destroy();
    });
    // `close` follows.
    this.#socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.#isUnread = code === 'ECONNRESET' || code === 'EPIPE';
    });
    this.#socket.on('close', () => {
      clearTimeout(tooSlow);
      this.#fail();
      keeper.onClosed(this);
    });
  }

  get isUsable(): boolean {
    return this.#socket.writable;
  }

  get hasSentAll(): boolean {
    return this.#isConnected && this.#socket.writableLength === 0;
  }

  send(call: ProviderCall, head: string, { body, bodyBytes }: ProviderRequest): void {
    this.#call = call;
    this.#hasAnswered = false;
    this.#reader.begin();
    call.onCarried(this);
    if (bodyBytes <= JOINED_BODY_BYTES) {
      const whole = Buffer.allocUnsafe(head.length + bodyBytes);
      let end = whole.write(head, 'latin1');
      for (const piece of body) end += piece.copy(whole, end);
      this.#socket.write(whole);
      return;
    }
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    for (const piece of body.slice(0, -1)) this.#socket.write(piece);
    this.#socket.write(body.at(-1) ?? '', (error) => {
      if (!error) call.onSent();
    });
    this.#socket.uncork();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  destroy(): void {
    this.#fail();
    this.#socket.destroy();
  }

  onHead(head: ResponseHead): void {
    this.#call?.onHead(head);
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    this.#call?.onBody(bytes, start, end);
  }

  onEnd(reusable: boolean): void {
    const call = this.#call;
    this.#call = undefined;
    this.#isPaused = false;
    call?.onEnd();
    // An answer that came before all of its request was written: the rest would be read as the next request.
    if (!reusable || this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#keeper.onIdle(this);
  }

  /** False: nothing more is to be read. */
  #read(bytes: Buffer): boolean {
    this.#hasAnswered = true;
    if (!this.#reader.push(bytes)) this.destroy();
    return !this.#isPaused;
  }

  /**
   * No provider has seen the whole request before the connection stood, or where Envoy left some of it unread. That happens where a
   * provider's HTTP/2 connection broke between the last byte of the answer before and its end: Envoy closes this one soon after.
   */
  #fail(): void {
    const call = this.#call;
    this.#call = undefined;
    const isUnseen = !this.#isConnected || (this.#isUnread && !this.#hasAnswered);
    call?.onFailure(isUnseen ? FAILURES.egressUnreachable : FAILURES.reset);
  }
}
