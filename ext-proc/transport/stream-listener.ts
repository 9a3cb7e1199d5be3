import { createServer, type Server } from 'node:net';
import { refuse, renderRefusal } from '../../core/errors/refusal.ts';
import { listenOn } from '../../core/net/unix-socket.ts';
import { STREAM_HEADER } from './replies.ts';
import { encodeHead } from './response-head.ts';
import { StreamConnection } from './stream-connection.ts';
import { newStreamId } from './stream-id.ts';

/** From our reply to Envoy's request here. Envoy retries a refused connection for less than that. */
const CONNECT_MS = 10_000;
/** From the end of the ext_proc stream, when nothing but the connection is left to do: later only because the client left. */
const CONNECT_SOON_MS = 2_000;
const SWEEP_MS = 100;
/** What is left, of the slowest that came, after each one that came faster. */
const FORGOTTEN_PER_ARRIVAL = 0.95;

/** Who is waited for: told of the connection that awaits its answer, or that nobody came. */
export type OnRequest = (connection: StreamConnection | undefined) => void;

/**
 * Where Envoy brings requests that are answered as a stream: plain HTTP over a Unix socket, with its flow control. A request names the
 * exchange it belongs to by an id that cannot be guessed, works once, and is forgotten when nobody comes.
 */
export class StreamListener {
  readonly #server: Server;
  readonly #connections = new Set<StreamConnection>();
  readonly #waiting = new Map<string, Waiting>();
  #sweep: NodeJS.Timeout | undefined;
  /** The clock by which is given up, and when it was last moved on. */
  #sweptMs = 0;
  #sweptAtMs = 0;
  /** How long those took that have come of late. */
  #slowestMs = 0;

  static async start(socketPath: string, onFault: (error: Error) => void): Promise<StreamListener> {
    const listener = new StreamListener();
    await listenOn(listener.#server, socketPath);
    listener.#server.on('error', onFault);
    return listener;
  }

  private constructor() {
    this.#server = createServer((socket) => {
      const connection = new StreamConnection(
        socket,
        STREAM_HEADER,
        (id) => this.#serve(connection, id),
        () => this.#connections.delete(connection),
      );
      this.#connections.add(connection);
    });
  }

  /** Bounded by the exchanges in flight: each has at most one. */
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

  /** Nobody will come, or nobody may any more. */
  forget(id: string): void {
    this.#take(id)?.onRequest(undefined);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.forget(id);
    clearInterval(this.#sweep);
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
  }

  /** Time in which sockets were served: of each sweep no more counts than what is between two. */
  #servedMs(): number {
    return this.#sweptMs + Math.min(performance.now() - this.#sweptAtMs, SWEEP_MS);
  }

  /**
   * After a stall timers run before sockets: it costs one step, however long it was, and who came meanwhile is served in the next. While
   * others come that took nearly as long, the machine has more to do than it can, and nobody is given up for it.
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

  #serve(connection: StreamConnection, id: string): void {
    const waiting = this.#take(id);
    if (waiting === undefined) {
      const { status, headers, body } = renderRefusal(refuse('internal_error'));
      void connection.answer(encodeHead({ status, headers }), () => undefined).end(body);
      return;
    }
    this.#slowestMs = Math.max(performance.now() - waiting.askedAtMs, this.#slowestMs * FORGOTTEN_PER_ARRIVAL);
    waiting.onRequest(connection);
  }
}

interface Waiting {
  readonly onRequest: OnRequest;
  readonly askedAtMs: number;
  /** On the listener's own clock. */
  sinceMs: number;
  patienceMs: number;
}
