import { DeadlineTimer } from '../../fairness/deadline-timer.ts';
import { ProviderCall, type SentListener } from './provider-call.ts';
import { type ConnectionKeeper, ProviderConnection } from './provider-connection.ts';
import { FAILURES } from './provider-failure.ts';
import type { ProviderRequest } from './provider-request.ts';

/** Calls beyond this number wait in a queue. Envoy's own circuit breakers open far later. */
const MAX_CONNECTIONS = 8192;

/** Calls providers over Envoy's egress socket. */
export class ProviderClient implements ConnectionKeeper {
  readonly #socketPath: string;
  readonly #maxConnections: number;
  readonly #limits = new DeadlineTimer();
  readonly #connections = new Set<ProviderConnection>();
  /** Idle connections, the last used one last. Closed ones are skipped. */
  readonly #idle: ProviderConnection[] = [];
  /** Waiting calls in order. Aborted ones are skipped. */
  readonly #waiting = new Set<ProviderCall>();
  #isClosed = false;

  constructor(socketPath: string, maxConnections = MAX_CONNECTIONS) {
    this.#socketPath = socketPath;
    this.#maxConnections = maxConnections;
  }

  call(request: ProviderRequest, onSent?: SentListener): ProviderCall {
    const call = new ProviderCall(request, this.#limits, onSent);
    if (request.headers === undefined) call.onFailure(FAILURES.unsendable);
    else if (this.#isClosed) call.onFailure(FAILURES.reset);
    else this.#carry(call);
    return call;
  }

  /** Ends every call in progress. */
  close(): void {
    this.#isClosed = true;
    for (const call of this.#waiting) call.onFailure(FAILURES.reset);
    for (const connection of this.#connections) connection.destroy();
    this.#limits.close();
  }

  onIdle(connection: ProviderConnection): void {
    this.#idle.push(connection);
    this.#carryNext();
  }

  onClosed(connection: ProviderConnection): void {
    this.#connections.delete(connection);
    this.#carryNext();
  }

  #carry(call: ProviderCall): void {
    const connection = this.#takeIdle() ?? this.#open();
    const { request } = call;
    if (connection === undefined) this.#waiting.add(call);
    else if (request !== undefined) connection.send(call, request);
  }

  #takeIdle(): ProviderConnection | undefined {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined || connection.isUsable) return connection;
    }
  }

  #open(): ProviderConnection | undefined {
    if (this.#connections.size >= this.#maxConnections) return undefined;
    const connection = new ProviderConnection(this.#socketPath, this);
    this.#connections.add(connection);
    return connection;
  }

  #carryNext(): void {
    for (const call of this.#waiting) {
      this.#waiting.delete(call);
      if (call.isOver) continue;
      this.#carry(call);
      return;
    }
  }
}
