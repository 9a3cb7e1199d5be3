import { randomFillSync } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { refuse, renderRefusal } from '#core/errors/refusal.ts';
import { listenOn } from '#core/net/unix-socket.ts';
import { STREAM_HEADER } from '../ext-proc/replies.ts';

/** Longest wait for Envoy's request after our reply. Envoy's own retries end sooner. */
const CONNECT_MS = 10_000;
/**
 * Longest wait after the end of the ext_proc stream, when Envoy only has to connect. The request
 * comes later only if the client left.
 */
const CONNECT_SOON_MS = 2_000;
const SWEEP_MS = 100;
/** More than Envoy lets through, so that this listener refuses no request. */
const MAX_HEADER_BYTES = 256 * 1024;
/** The slowest arrival time decays by this factor with each faster arrival. */
const FORGOTTEN_PER_ARRIVAL = 0.95;

/** Called with the response when Envoy brought the request, or `undefined` when aborted. */
export type OnRequest = (response: ServerResponse | undefined) => void;

/**
 * The HTTP server to which Envoy brings requests whose response is a stream: HTTP/1.1 over a Unix
 * socket, with its flow control. A request names its exchange by an id that cannot be guessed and
 * works once.
 */
export class StreamListener {
  readonly #server: Server;
  readonly #waiting = new Map<string, Waiting>();
  #sweep: NodeJS.Timeout | undefined;
  /** The clock of the time limits, and when it was last advanced. */
  #sweptMs = 0;
  #sweptAtMs = 0;
  /** Time that the slowest of the latest arrivals took. It decays. */
  #slowestMs = 0;

  static async start(socketPath: string, onFault: (error: Error) => void): Promise<StreamListener> {
    const listener = new StreamListener();
    await listenOn(listener.#server, socketPath);
    listener.#server.on('error', onFault);
    return listener;
  }

  private constructor() {
    // Without time-outs Envoy closes idle connections. If we did, a request could be on its way.
    const noTimeouts = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 };
    this.#server = createServer({ ...noTimeouts, maxHeaderSize: MAX_HEADER_BYTES }, (request, response) =>
      this.#serve(request, response),
    );
    // Envoy never half-closes a connection. If it ends its side, it would not read the rest.
    this.#server.on('connection', (socket) => socket.on('end', () => socket.destroy()));
  }

  /** Number of ids that wait. Bounded by the exchanges in flight: each has at most one. */
  get waiting(): number {
    return this.#waiting.size;
  }

  expect(onRequest: OnRequest): string {
    const id = newStreamId();
    if (this.#sweep === undefined) {
      this.#sweptAtMs = performance.now();
      this.#sweep = setInterval(() => this.#sweepOnce(), SWEEP_MS);
    }
    const sinceMs = this.#servedMs();
    this.#waiting.set(id, { onRequest, askedAtMs: performance.now(), sinceMs, patienceMs: CONNECT_MS });
    return id;
  }

  expectSoon(id: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.patienceMs === CONNECT_SOON_MS) return;
    waiting.patienceMs = CONNECT_SOON_MS;
    waiting.sinceMs = this.#servedMs();
  }

  /** Aborts the wait for a request. */
  forget(id: string): void {
    this.#take(id)?.onRequest(undefined);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.forget(id);
    clearInterval(this.#sweep);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Time during which sockets were served. A stall between two sweeps counts as one interval. */
  #servedMs(): number {
    return this.#sweptMs + Math.min(performance.now() - this.#sweptAtMs, SWEEP_MS);
  }

  /**
   * After a stall, timers run before sockets. A stall of any length counts as one step, so a
   * request that came meanwhile is served before the next step. While arrivals take at least half
   * as long as a wait, the machine is overloaded, and the wait lasts until `CONNECT_MS`.
   */
  #sweepOnce(): void {
    this.#sweptMs += SWEEP_MS;
    this.#sweptAtMs = performance.now();
    for (const [id, { sinceMs, patienceMs }] of this.#waiting) {
      const waitedMs = this.#sweptMs - sinceMs;
      if (waitedMs >= CONNECT_MS || (waitedMs >= patienceMs && waitedMs > 2 * this.#slowestMs)) this.forget(id);
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) this.#waiting.delete(id);
    return waiting;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const id = request.headers[STREAM_HEADER];
    const waiting = typeof id === 'string' ? this.#take(id) : undefined;
    if (waiting === undefined) {
      const { status, headers, body } = renderRefusal(refuse('internal_error'));
      response.writeHead(status, headers).end(body);
      return;
    }
    this.#slowestMs = Math.max(performance.now() - waiting.askedAtMs, this.#slowestMs * FORGOTTEN_PER_ARRIVAL);
    waiting.onRequest(response);
  }
}

interface Waiting {
  readonly onRequest: OnRequest;
  readonly askedAtMs: number;
  /** Moment on the listener's own clock. */
  sinceMs: number;
  patienceMs: number;
}

/** An id of 128 bits cannot be guessed. */
const ID_BYTES = 16;

/** Random bytes for the next ids. Drawing 16 bytes at a time costs 4 us, this pool 0.2 us. */
const pool = Buffer.alloc(256 * ID_BYTES);
let poolUsed = pool.length;

function newStreamId(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += ID_BYTES;
  return pool.toString('base64url', poolUsed - ID_BYTES, poolUsed);
}
