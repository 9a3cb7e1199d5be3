import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfig, Model, Provider } from '../config/gateway-config.ts';
import type { ChatRequest } from '../domain/chat-request.ts';
import { systemClock } from '../domain/clock.ts';
import type { Answer, Exchange, ResponseHead, ResponseStream } from '../transport/exchange.ts';
import { createDelivery, type Delivery } from './deliver.ts';
import type { Charge, CountTokens, DeliveryOutcome, Order, Produced } from './delivery.ts';

/** For the tests of this folder: a server on a socket that stands for Envoy's egress and the providers behind it, and a client. */
export interface Egress {
  readonly socketPath: string;
  /** What was asked, in order; `cluster` says which provider. */
  readonly asked: AskedProvider[];
  /** Answers the next requests, one handler each; the last one stays. */
  answerWith(...handlers: ProviderHandler[]): void;
  close(): Promise<void>;
}

export interface AskedProvider {
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Resolves when the connection broke before the answer was complete. */
  readonly cancelled: Promise<void>;
}

export type ProviderHandler = (response: ServerResponse, asked: AskedProvider) => unknown;

export async function startEgress(): Promise<Egress> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-egress-'));
  const socketPath = join(folder, 'egress.sock');
  const asked: AskedProvider[] = [];
  let handlers: ProviderHandler[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const cancelled = new Promise<void>((resolve) => {
      response.on('close', () => {
        if (!response.writableFinished) resolve();
      });
    });
    const one = { path: request.url, headers: request.headers, body: Buffer.concat(pieces).toString(), cancelled };
    asked.push(one);
    const handler = handlers.length > 1 ? handlers.shift() : handlers[0];
    await handler?.(response, one);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    asked,
    answerWith(...next) {
      handlers = next;
      asked.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

export function provider(name: string, more: Partial<Provider> = {}): Provider {
  const baseUrl = new URL(`https://${name}.example/api/v1`);
  return { name, baseUrl, apiKey: `secret-of-${name}`, outputLimitField: 'max_tokens', cluster: `${name}-1`, ...more };
}

export interface OrderOptions {
  readonly stream?: boolean;
  readonly includeUsage?: boolean;
  readonly completions?: number;
  readonly reasoningEfforts?: readonly string[];
  readonly providers?: readonly Provider[];
  readonly timeouts?: Partial<GatewayConfig['timeouts']>;
  readonly retriesPerTarget?: number;
  readonly responseBodyBytes?: number;
}

export function order(options: OrderOptions = {}): Order {
  const timeouts = { firstByteMs: 2000, streamIdleMs: 2000, totalMs: 5000, ...options.timeouts };
  const providers = options.providers ?? [provider('alpha')];
  const model: Model = {
    id: 'public-model',
    capabilities: new Set(),
    reasoningEfforts: options.reasoningEfforts ?? [],
    contextWindow: 10_000,
    maxOutputTokens: 1000,
    defaultOutputTokens: 1000,
    prices: { inputPicoUsd: 1n, cachedInputPicoUsd: 1n, outputPicoUsd: 1n },
    targets: providers.map((one) => ({ provider: one, model: `${one.name}-model` })),
    disabled: false,
  };
  const chat: ChatRequest = {
    model: model.id,
    stream: options.stream ?? false,
    includeUsage: options.includeUsage ?? false,
    completions: options.completions ?? 1,
    jsonFormat: false,
    hasTools: false,
    hasImages: false,
    hasRemoteImages: false,
    inputTokens: { estimate: 3, ceiling: 30 },
    promptText: () => 'one two three',
    encodeFor: (fields) => Buffer.from(JSON.stringify(fields)),
  };
  const config = {
    timeouts,
    retriesPerTarget: options.retriesPerTarget ?? 1,
    limits: { requestBodyBytes: 1e6, responseBodyBytes: options.responseBodyBytes ?? 1e6, readRequestsPerMinute: 600 },
  };
  return {
    generationId: 'gen-TEST',
    requestId: 'request',
    // Delivery reads no more of the configuration than this.
    config: config as GatewayConfig,
    model,
    chat,
    outputLimit: 100,
    responseHeaders: { 'x-ratelimit-limit-requests': '5' },
    createdAtSeconds: 1_732_156_800,
    deadlineMs: systemClock.monotonicMs() + timeouts.totalMs,
  };
}

/** A client, and what reached it. */
export interface Client {
  readonly exchange: Exchange;
  readonly answers: Answer[];
  readonly heads: ResponseHead[];
  /** Each write of a stream. */
  readonly written: string[];
  readonly ended: boolean;
  readonly aborted: boolean;
  text(): string;
  leave(): void;
  /** From now on writes find the buffer full, until `read`. */
  stopReading(): void;
  read(): void;
}

export function client(): Client {
  const gone = new AbortController();
  const answers: Answer[] = [];
  const heads: ResponseHead[] = [];
  const written: string[] = [];
  let reading = true;
  let ended = false;
  let aborted = false;
  let drained: (() => void)[] = [];
  const wake = () => {
    const waiting = drained;
    drained = [];
    for (const one of waiting) one();
  };
  const untilRead = () =>
    new Promise<void>((resolve) => (reading || gone.signal.aborted ? resolve() : drained.push(resolve)));
  const stream: ResponseStream = {
    write(bytes) {
      if (!gone.signal.aborted) written.push(Buffer.from(bytes).toString());
      return reading;
    },
    drained: untilRead,
    async end(bytes) {
      if (bytes && !gone.signal.aborted) written.push(Buffer.from(bytes).toString());
      await untilRead();
      ended = !gone.signal.aborted && !aborted;
    },
    abort() {
      aborted = true;
      wake();
    },
  };
  const exchange: Exchange = {
    requestId: 'request',
    method: 'POST',
    path: '/v1/chat/completions',
    peerAddress: '127.0.0.1',
    header: () => undefined,
    readBody: () => Promise.reject(new Error('delivery does not read the body')),
    async respond(answer) {
      answers.push(answer);
    },
    async openStream(head) {
      heads.push(head);
      return gone.signal.aborted ? undefined : stream;
    },
    gone: gone.signal,
  };
  return {
    exchange,
    answers,
    heads,
    written,
    get ended() {
      return ended;
    },
    get aborted() {
      return aborted;
    },
    text: () => written.join(''),
    leave() {
      gone.abort();
      wake();
    },
    stopReading() {
      reading = false;
    },
    read() {
      reading = true;
      wake();
    },
  };
}

/** One token a word, so that tests can count by eye. */
export const countWords: CountTokens = async (texts) =>
  texts.map((text) => text.split(/\s+/).filter((word) => word !== '').length);

export interface Delivered {
  readonly outcome: DeliveryOutcome;
  readonly charges: readonly Produced[];
}

export async function deliverTo(delivery: Delivery, to: Client, what: Order, charge?: Charge): Promise<Delivered> {
  const charges: Produced[] = [];
  const outcome = await delivery.deliver(what, to.exchange, async (produced) => {
    charges.push(produced);
    return charge ? charge(produced) : { kind: 'charged', costUsd: 0.25 };
  });
  return { outcome, charges };
}

export function deliveryOver(egress: Egress): Delivery {
  return createDelivery({ egressSocketPath: egress.socketPath, clock: systemClock, countTokens: countWords });
}

export const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

export function sendJson(value: unknown, status = 200, headers: Record<string, string> = {}): ProviderHandler {
  return (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'alpha-model-2025',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
  usage: USAGE,
};

export function chunk(
  delta: Record<string, unknown>,
  finishReason: string | null = null,
  more: Record<string, unknown> = {},
): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'alpha-model-2025',
    choices,
    ...more,
  });
}

export function usageChunk(usage: unknown = USAGE): string {
  return event({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'alpha-model-2025',
    choices: [],
    usage,
  });
}

export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export const DONE = 'data: [DONE]\n\n';

/** Sends the pieces of a stream, then what `after` does; by default a clean end. */
export function sendStream(
  pieces: readonly string[],
  after: (response: ServerResponse) => void = (response) => response.end(),
): ProviderHandler {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      response.write(piece);
      // A turn between them, so that they arrive as pieces.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    after(response);
  };
}

/** Stands for Envoy's own answer when a provider resets or cannot be reached. */
export function envoyReply(flags: string): ProviderHandler {
  return (response) => response.writeHead(503, { 'x-gw-local': flags, 'content-type': 'application/json' }).end('{}');
}
