import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { plainAnswer } from './acts.ts';
import { type Act, callOf, type SeenRequest } from './call.ts';

/**
 * A scriptable OpenAI-compatible provider on loopback. The request's model name selects the act.
 */
export interface FakeProvider {
  /** Value for `base_url`, with the prefix `/v1`. */
  readonly baseUrl: string;
  readonly port: number;
  /**
   * Sets the acts for requests to `model`: one act for each request, and the last one for all
   * further requests. Default: a plain successful response.
   */
  script(model: string, ...acts: readonly [Act, ...Act[]]): void;
  /** Requests for `model` so far, oldest first; at most the last 1,000 of all models are kept. */
  requests(model?: string): readonly SeenRequest[];
  openConnections(): number;
  close(): Promise<void>;
}

export interface FakeProviderOptions {
  /** PEM texts, with which the provider speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Offer HTTP/2 by ALPN beside HTTP/1.1. */
  readonly http2?: boolean;
  /** False keeps no requests, for load tests. */
  readonly record?: boolean;
  readonly port?: number;
  /** Address to listen on; default loopback. */
  readonly host?: string;
}

const KEPT_REQUESTS = 1000;

export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const scripts = new Map<string, Act[]>();
  const kept: SeenRequest[] = [];
  const sockets = new Set<Socket>();

  const onRequest = async (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): Promise<void> => {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return; // The caller disconnected during the upload.
    }
    const seen = seenRequest(request, Buffer.concat(pieces));
    if (options.record !== false) {
      kept.push(seen);
      if (kept.length > KEPT_REQUESTS) kept.shift();
    }
    const acts = scripts.get(seen.model) ?? [plainAnswer];
    const act = (acts.length > 1 ? acts.shift() : acts[0]) ?? plainAnswer;
    await act(callOf(request, response, seen));
  };

  const server = listener(options, (request, response) => {
    onRequest(request, response).catch((error: unknown) => {
      // An error of the test itself, which must not look like a provider's failure.
      process.stderr.write(`fake provider: ${String(error)}\n`);
      response.destroy();
    });
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const { host = '127.0.0.1' } = options;
  server.listen(options.port ?? 0, host, 4096);
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `${options.tls ? 'https' : 'http'}://${host}:${port}/v1`,
    port,
    script: (model, ...acts) => void scripts.set(model, [...acts]),
    requests: (model) => kept.filter((seen) => model === undefined || seen.model === model),
    openConnections: () => sockets.size,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

type OnRequest = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

function listener(options: FakeProviderOptions, onRequest: OnRequest): Server {
  if (!options.tls) return createServer({ keepAliveTimeout: 60_000 }, onRequest);
  if (!options.http2) return createHttpsServer(options.tls, onRequest);
  return createSecureServer({ ...options.tls, allowHTTP1: true }, onRequest);
}

function seenRequest(request: IncomingMessage | Http2ServerRequest, body: Buffer): SeenRequest {
  const json = parseObject(body);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    httpVersion: request.httpVersion,
    headers: request.headers,
    body,
    json,
    model: typeof json?.model === 'string' ? json.model : '',
    stream: json?.stream === true,
    hungUp: false,
    answered: false,
  };
}

function parseObject(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
