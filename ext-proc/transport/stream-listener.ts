import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { refuse, renderRefusal } from '../errors/refusal.ts';
import { STREAM_HEADER } from './replies.ts';
import { listenOn } from './unix-socket.ts';

/** From our reply to Envoy's request here. Envoy retries a refused connection for less than that. */
const CONNECT_MS = 10_000;
/** From the end of the ext_proc stream, when nothing but the connection is left to do: later only because the client left. */
const CONNECT_SOON_MS = 2_000;
const EXPIRY_STEPS = 4;
/** What is left, of the slowest that came, after each one that came faster. */
const FORGOTTEN_PER_ARRIVAL = 0.95;
/** Above what Envoy lets through, so that this listener never is the one that refuses. */
const MAX_HEADER_BYTES = 256 * 1024;

/**
 * Where Envoy brings requests that are answered as a stream: plain HTTP over a Unix socket, with its flow control. A request names the
 * exchange it belongs to by an id that cannot be guessed, works once, and is forgotten when nobody comes.
 */
export class StreamListener {
  readonly #server: Server;
  readonly #waiting = new Map<string, Waiting>();
  /** How long those took that have come of late. */
  #slowestMs = 0;

  static async start(socketPath: string, onFault: (error: Error) => void): Promise<StreamListener> {
    const listener = new StreamListener();
    await listenOn(listener.#server, socketPath);
    listener.#server.on('error', onFault);
    return listener;
  }

  private constructor() {
    // No time-outs of its own: Envoy closes idle connections first, and one that we closed could meet a request on its way.
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 },
      (request, response) => this.#serve(request, response),
    );
  }

  /** Bounded by the exchanges in flight: each has at most one. */
  get waiting(): number {
    return this.#waiting.size;
  }

  expect(onResponse: (response: ServerResponse | undefined) => void): string {
    const id = randomBytes(16).toString('base64url');
    const sinceMs = performance.now();
    this.#waiting.set(id, { onResponse, sinceMs, expiry: this.#expiry(id, CONNECT_MS), soon: false });
    return id;
  }

  expectSoon(id: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined || waiting.soon) return;
    clearInterval(waiting.expiry);
    waiting.soon = true;
    waiting.expiry = this.#expiry(id, CONNECT_SOON_MS);
  }

  /** Nobody will come, or nobody may any more. */
  forget(id: string): void {
    this.#take(id)?.onResponse(undefined);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.forget(id);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /**
   * After a stall timers run before sockets: it costs one step, however long it was, and who came meanwhile is served in the next. While
   * others come that took nearly as long, the machine has more to do than it can, and nobody is given up for it.
   */
  #expiry(id: string, afterMs: number): NodeJS.Timeout {
    const stepMs = afterMs / EXPIRY_STEPS;
    let waitedMs = 0;
    return setInterval(() => {
      waitedMs += stepMs;
      if (waitedMs >= CONNECT_MS || (waitedMs >= afterMs && waitedMs > 2 * this.#slowestMs)) this.forget(id);
    }, stepMs);
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return undefined;
    this.#waiting.delete(id);
    clearInterval(waiting.expiry);
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
    this.#slowestMs = Math.max(performance.now() - waiting.sinceMs, this.#slowestMs * FORGOTTEN_PER_ARRIVAL);
    waiting.onResponse(response);
  }
}

interface Waiting {
  readonly onResponse: (response: ServerResponse | undefined) => void;
  readonly sinceMs: number;
  expiry: NodeJS.Timeout;
  /** The shorter time runs already. */
  soon: boolean;
}
