import { connect, type IpcNetConnectOpts, type Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import type { Carrier, ProviderCall, ProviderHead } from './provider-call.ts';
import { FAILURES } from './provider-failure.ts';
import type { ProviderRequest } from './provider-request.ts';

export interface ConnectionKeeper {
  /** Called when the connection can carry the next call. */
  onIdle(connection: ProviderConnection): void;
  /** Called once, when the connection is closed. */
  onClosed(connection: ProviderConnection): void;
}

const CONNECT_TIMEOUT_MS = 2000;
const MAX_HEAD_BYTES = 64 * 1024;
/** Envoy keeps idle egress connections for an hour, so the gateway is always the first to close. */
const KEEP_ALIVE_MS = 60_000;

/** A body up to this size is joined into one piece: copying costs less than sending several. */
const JOINED_BODY_BYTES = 16 * 1024;
/**
 * The pieces of a body up to this size leave in one write, because Envoy wakes up for each write. A
 * larger body is sent piece by piece, so that each piece is freed once it is sent.
 */
const ONE_WRITE_BYTES = 1024 * 1024;

/** undici has no other origin to connect to: every connection leads to Envoy's egress socket. */
const ORIGIN = 'http://egress';

/** An HTTP/1.1 connection to Envoy's egress socket, with one call at a time. An error ends both. */
export class ProviderConnection implements Carrier, Dispatcher.DispatchHandler {
  readonly #keeper: ConnectionKeeper;
  readonly #client: Client;
  #socket: Socket | undefined;
  #call: ProviderCall | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #bodyBytes = 0;
  /** Bytes that the socket had read when the request was written. */
  #readBefore = 0;
  /** True if Envoy closed the socket with unread data: Linux reports an error then. */
  #isUnread = false;
  #isClosed = false;

  constructor(socketPath: string, keeper: ConnectionKeeper) {
    this.#keeper = keeper;
    this.#client = new Client(ORIGIN, {
      connect: (_, callback) => this.#connect(socketPath, callback),
      allowH2: false,
      // ProviderCall has its own limits.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    this.#client.on('disconnect', () => {
      if (this.#call === undefined) this.destroy();
    });
  }

  get isUsable(): boolean {
    return !this.#isClosed && this.#socket?.writable === true;
  }

  get hasSentAll(): boolean {
    return this.#controller !== undefined && this.#socket?.writableLength === 0;
  }

  send(call: ProviderCall, { path, headers, body, bodyBytes }: ProviderRequest): void {
    this.#call = call;
    this.#controller = undefined;
    this.#bodyBytes = bodyBytes;
    call.onCarried(this);
    const isJoined = bodyBytes <= JOINED_BODY_BYTES;
    this.#client.dispatch(
      {
        method: 'POST',
        path,
        headers: isJoined ? (headers as string[]) : [...(headers ?? []), 'content-length', String(bodyBytes)],
        body: (isJoined ? Buffer.concat(body) : piecesOf([...body])) as Buffer,
      },
      this,
    );
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  destroy(): void {
    this.#fail();
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.#client.destroy();
    this.#keeper.onClosed(this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
    if (this.#bodyBytes <= ONE_WRITE_BYTES) this.#socket?.cork();
  }

  onRequestSent(): void {
    const call = this.#call;
    const socket = this.#socket;
    if (this.#bodyBytes <= ONE_WRITE_BYTES) socket?.uncork();
    if (call === undefined || socket === undefined) return;
    if (socket.writableLength === 0) call.onSent();
    // The callback runs when everything written before has left this process.
    else if (call.wantsSent) socket.write('', (error) => error ?? call.onSent());
  }

  onResponseStart(_: unknown, status: number, headers: Record<string, string | string[] | undefined>): void {
    if (status >= 200) this.#call?.onHead(headOf(status, headers));
  }

  onResponseData(_: unknown, bytes: Buffer): void {
    this.#call?.onBody(bytes);
  }

  onResponseEnd(): void {
    // undici treats a response without a length as complete even if an error has ended it.
    if (this.#isUnread) {
      this.destroy();
      return;
    }
    const call = this.#call;
    this.#call = undefined;
    call?.onEnd();
    // The response ended before the whole request was written: Envoy might not read the rest.
    if (this.#socket === undefined || this.#socket.writableLength > 0) this.destroy();
    else this.#keeper.onIdle(this);
  }

  onResponseError(): void {
    this.destroy();
  }

  #connect(socketPath: string, callback: buildConnector.Callback): void {
    // A corked socket writes nothing. With less room undici would wait for it in mid-body.
    const options = { path: socketPath, writableHighWaterMark: 2 * ONE_WRITE_BYTES };
    const socket = connect(options as IpcNetConnectOpts);
    this.#socket = socket;
    this.#isUnread = false;
    const tooSlow = setTimeout(() => this.destroy(), CONNECT_TIMEOUT_MS);
    const onError = (error: Error) => {
      clearTimeout(tooSlow);
      callback(error, null);
    };
    socket.once('error', onError);
    socket.once('connect', () => {
      clearTimeout(tooSlow);
      socket.off('error', onError);
      socket.on('error', ({ code }: NodeJS.ErrnoException) => {
        this.#isUnread = code === 'ECONNRESET' || code === 'EPIPE';
      });
      callback(null, socket);
    });
  }

  /**
   * Fails the call. No provider has seen the whole request if it was not written yet, or if Envoy
   * left a part of it unread. Envoy does so if a provider's HTTP/2 connection broke between the
   * last byte and the end of the previous response: it then closes this connection soon after.
   */
  #fail(): void {
    const call = this.#call;
    this.#call = undefined;
    const isUnanswered = (this.#socket?.bytesRead ?? 0) === this.#readBefore;
    const isUnseen = this.#controller === undefined || (this.#isUnread && isUnanswered);
    call?.onFailure(isUnseen ? FAILURES.egressUnreachable : FAILURES.reset);
  }
}

/** Yields pieces and drops each reference, so that sent pieces leave memory. */
function* piecesOf(pieces: Buffer[]): Generator<Buffer> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece;
}

function headOf(status: number, headers: Record<string, string | string[] | undefined>): ProviderHead {
  return {
    kind: 'head',
    status,
    header(name) {
      const value = headers[name];
      return Array.isArray(value) ? value.map((one) => one.trim()).join(', ') : value?.trim();
    },
  };
}
