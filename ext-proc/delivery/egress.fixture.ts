import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * For the tests of this folder: a server on a socket that stands for Envoy's egress and the
 * providers behind it.
 */
export interface Egress {
  readonly socketPath: string;
  /** Calls in order; `cluster` names the provider. */
  readonly asked: AskedProvider[];
  /** Answers the next requests, one handler each; the last one stays. */
  respondWith(...handlers: ProviderHandler[]): void;
  /** Opened since the last `answerWith`. */
  connections(): number;
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
  let connections = 0;
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
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    asked,
    respondWith(...next) {
      handlers = next;
      asked.length = 0;
      connections = 0;
    },
    connections: () => connections,
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

export const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };

export function sendJsonText(text: string, status = 200, headers: Record<string, string> = {}): ProviderHandler {
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

export function sendJson(value: unknown, ...more: [status?: number, headers?: Record<string, string>]) {
  return sendJsonText(JSON.stringify(value), ...more);
}

export const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'alpha-model-2025',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
  usage: USAGE,
};

const OF_CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'alpha-model-2025' };

export function chunk(delta: object, finishReason: string | null = null, more: object = {}): string {
  return event({ ...OF_CHUNK, choices: [{ index: 0, delta, finish_reason: finishReason }], ...more });
}

export function usageChunk(usage: unknown = USAGE): string {
  return event({ ...OF_CHUNK, choices: [], usage });
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

/** The beginning and the end of an ordinary stream. */
export const HELLO = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hello' }),
  chunk({ content: ' there' }),
];
export const STOP = chunk({}, 'stop');

/** A chunk of the provider's as the client sees it. */
export function ours(text: string): string {
  return text.replace('"chatcmpl-1"', '"gen-TEST"').replace('"alpha-model-2025"', '"public-model"');
}
