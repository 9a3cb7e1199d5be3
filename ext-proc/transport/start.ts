import { envelopeOf, type Refusal, refuse, renderRefusal } from '#core/errors/refusal.ts';
import type { TcpAddress } from '#core/net/unix-socket.ts';
import { errorBody } from '../dialects/anthropic/error-body.ts';
import { type BudgetRefusal, SharedBudget } from '../fairness/shared-budget.ts';
import type { ExchangeHandler } from './exchange.ts';
import { startExtProcServer } from './ext-proc/ext-proc-server.ts';
import { HEADER_LIMIT, type RequestHead } from './ext-proc/request-head.ts';
import { ExtProcExchange } from './ext-proc-exchange.ts';
import { StreamListener } from './streams/stream-listener.ts';
import { UploadPlaces } from './upload-places.ts';

export interface TransportOptions {
  /** Path of a Unix socket, or a TCP address if the configuration has one. */
  readonly extProcSocket: string | TcpAddress;
  readonly streamSocket: string;
  /** Name of the Envoy cluster that leads to `streamSocket`. */
  readonly streamClusterName: string;
  readonly handler: ExchangeHandler;
  /** Limit of all request bodies in memory. 512 MiB by default. */
  readonly bodyBudgetBytes?: number;
  /** Called when a body found no memory, or was evicted. */
  readonly onMemoryRefused?: (why: BudgetRefusal) => void;
  /** Longest exchange, above the handler's deadlines. It is read at each check, for reloads. */
  readonly exchangeDeadlineMs: () => number;
  /** Most exchanges at once. For a further one an upload is ended, or it gets `no_capacity`. */
  readonly maxInFlight?: number;
  readonly onFault: (fault: TransportFault) => void;
}

/** A bug, ours or Envoy's, for the log. The client got an error or a visibly cut response. */
export interface TransportFault {
  readonly kind: 'handler_threw' | 'handler_did_not_respond' | 'deadline' | 'protocol';
  readonly requestId: string;
  readonly error?: unknown;
}

export interface Transport {
  inFlight(): number;
  /** Request bodies in memory, all together. */
  readonly bodies: Pick<SharedBudget, 'heldBytes' | 'limitBytes'>;
  /** Accepts no new requests and waits. Resolves with the number in flight after the time-out. */
  drain(timeoutMs: number): Promise<number>;
  /** Refuses requests that have not arrived whole. Complete ones are left to their handlers. */
  endUploads(): void;
  close(): Promise<void>;
}

const BODY_BUDGET_BYTES = 512 * 1024 * 1024;
const DEFAULT_MAX_IN_FLIGHT = 20_000;
const SWEEP_MS = 1_000;
/** Envoy closes a connection once it has read GOAWAY, and has this long to do so. */
const CLIENTS_GONE_MS = 3_000;

export async function startTransport(options: TransportOptions): Promise<Transport> {
  const inFlight = new Set<ExtProcExchange>();
  const budget = new SharedBudget(options.bodyBudgetBytes ?? BODY_BUDGET_BYTES, options.onMemoryRefused);
  const mostInFlight = options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT;
  const places = new UploadPlaces(mostInFlight, () => inFlight.size);
  let onEmpty: (() => void) | undefined;
  const onProtocolFault = (error: Error) => options.onFault({ kind: 'protocol', requestId: '', error });
  const streams = await StreamListener.start(options.streamSocket, onProtocolFault);
  const around = {
    budget,
    places,
    streams,
    streamClusterName: options.streamClusterName,
    deadlineMs: options.exchangeDeadlineMs,
    onBegin(exchange: ExtProcExchange, head: RequestHead) {
      const full = inFlight.size >= mostInFlight && !places.makeRoom();
      inFlight.add(exchange);
      const refusal = full ? NO_CAPACITY : refusalOf(head);
      const handler = refusal ? () => exchange.respond(rendered(refusal, exchange)) : options.handler;
      void run(exchange, handler, options.onFault);
    },
    onDone(exchange: ExtProcExchange) {
      inFlight.delete(exchange);
      if (inFlight.size === 0) onEmpty?.();
    },
  };
  const server = await startExtProcServer(
    options.extProcSocket,
    (stream) => new ExtProcExchange(stream, around),
    onProtocolFault,
  );
  const sweep = setInterval(() => expireOld(inFlight, options), SWEEP_MS);
  sweep.unref();
  return {
    inFlight: () => inFlight.size,
    bodies: budget,
    async drain(timeoutMs) {
      server.stopAccepting();
      if (inFlight.size > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          onEmpty = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return inFlight.size;
    },
    endUploads() {
      for (const exchange of inFlight) exchange.endUpload();
    },
    async close() {
      clearInterval(sweep);
      server.stopAccepting();
      if (inFlight.size === 0) await server.clientsGone(CLIENTS_GONE_MS);
      server.close();
      streams.close();
    },
  };
}

/** Runs the handler. In any case the client gets a response and the exchange ends. */
async function run(
  exchange: ExtProcExchange,
  handler: ExchangeHandler,
  onFault: TransportOptions['onFault'],
): Promise<void> {
  try {
    await handler(exchange);
    if (!exchange.hasResponded && !exchange.expired) {
      onFault({ kind: 'handler_did_not_respond', requestId: exchange.requestId });
      await respondInternalError(exchange);
    }
  } catch (error) {
    onFault({ kind: 'handler_threw', requestId: exchange.requestId, error });
    if (exchange.hasResponded) exchange.cut();
    else await respondInternalError(exchange);
  } finally {
    exchange.handled();
  }
}

function respondInternalError(exchange: ExtProcExchange): Promise<void> {
  return exchange.respond(rendered(refuse('internal_error'), exchange));
}

/** Renders a refusal in the form of the API at the path, as Envoy does for its own responses. */
function rendered(refusal: Refusal, { path, requestId }: ExtProcExchange): ReturnType<typeof renderRefusal> {
  const chat = renderRefusal(refusal);
  if (!/^\/v1\/messages(?:[/?]|$)/.test(path)) return chat;
  const body = Buffer.from(JSON.stringify(errorBody(envelopeOf(refusal).error, requestId)));
  return { ...chat, headers: { ...chat.headers, 'request-id': requestId }, body };
}

const NO_CAPACITY = refuse('no_capacity');
const LARGE_HEAD = refuse('request_too_large', { limit: HEADER_LIMIT });
const NOT_ONE_HOST = refuse('invalid_request', { problem: 'A request names one host, once.' }, { param: 'host' });

/** Refuses a request that HTTP does not allow or whose headers are too large. */
function refusalOf({ oversized, hasOneHost }: RequestHead): Refusal | undefined {
  if (oversized) return LARGE_HEAD;
  return hasOneHost ? undefined : NOT_ONE_HOST;
}

function expireOld(inFlight: ReadonlySet<ExtProcExchange>, options: TransportOptions): void {
  const startedBeforeMs = performance.now() - options.exchangeDeadlineMs();
  for (const exchange of inFlight) {
    // The set is ordered by start, so the first young exchange ends the search.
    if (exchange.startedAtMs > startedBeforeMs) return;
    if (!exchange.expired) options.onFault({ kind: 'deadline', requestId: exchange.requestId });
    exchange.expire(rendered(refuse('internal_error'), exchange));
  }
}
