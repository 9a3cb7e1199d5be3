import { PATIENCE_MS } from '../fixtures/patience.ts';
import { checkDocumented } from './documented-response.ts';
import { type HttpClient, httpClient, type Protocol, type Received, type Send } from './http-client.ts';

/**
 * A customer's client for one origin with one key. It throws when a response differs from
 * docs/openapi.yaml.
 */
export interface GatewayClient {
  /** `POST /v1/chat/completions`. Default of `messages`: one short message. */
  chat(body: Readonly<Record<string, unknown>>, more?: Partial<Send>): Promise<Received>;
  get(path: string): Promise<Received>;
  send(request: Send): Promise<Received>;
  close(): void;
}

export interface GatewayClientOptions {
  readonly protocol?: Protocol;
  readonly ca?: string;
}

export const MESSAGES = [{ role: 'user', content: 'Hello' }];

export function gatewayClient(origin: string, key: string, options: GatewayClientOptions = {}): GatewayClient {
  const http: HttpClient = httpClient(origin, options.protocol, options.ca);
  const send = async (request: Send): Promise<Received> => {
    const received = await http.send({ ...request, headers: { authorization: `Bearer ${key}`, ...request.headers } });
    checkDocumented(request, received);
    return received;
  };
  return {
    send,
    get: (path) => send({ path }),
    chat: (body, more = {}) =>
      send({
        path: '/v1/chat/completions',
        body: JSON.stringify({ messages: MESSAGES, ...body }),
        ...more,
        headers: { 'content-type': 'application/json', ...more.headers },
      }),
    close: http.close,
  };
}

export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly code: string;
  readonly param?: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const ENVELOPES: ReadonlySet<string> = new Set(['error', 'type,error,request_id']);

/** The error of a response, in the envelope of either API. Throws when the body is no error. */
export function errorOf(received: Received): ErrorBody {
  const body = JSON.parse(received.text) as { error?: ErrorBody };
  if (!ENVELOPES.has(Object.keys(body).join()) || body.error === undefined) {
    throw new Error(`not an error envelope: ${received.status} ${received.text.slice(0, 300)}`);
  }
  return body.error;
}

/** `200`, or status and error code, such as `401 invalid_api_key`. */
export function outcome(received: Received): string {
  return received.status === 200 ? '200' : `${received.status} ${errorOf(received).code}`;
}

export function jsonOf<T = Record<string, unknown>>(received: Received): T {
  return JSON.parse(received.text) as T;
}

/** The `data` of each event of a stream. */
export function eventsOf(received: Received): string[] {
  return received.text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));
}

/**
 * Polls until the status is 200: a generation can be looked up only after its charge is committed.
 */
export async function settledGeneration(
  client: GatewayClient,
  id: string,
  timeoutMs = PATIENCE_MS,
): Promise<Readonly<Record<string, unknown>>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const received = await client.get(`/v1/generation?id=${id}`);
    if (received.status === 200) return jsonOf<{ data: Record<string, unknown> }>(received).data;
    if (performance.now() > deadline) throw new Error(`generation ${id}: ${received.status} ${received.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function balanceOf(client: GatewayClient): Promise<number> {
  return jsonOf<{ data: { balance: number } }>(await client.get('/v1/credits')).data.balance;
}

/** Waits until no money is held, so every request in flight has been charged or released. */
export async function untilNothingHeld(client: GatewayClient, timeoutMs = PATIENCE_MS): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const received = await client.get('/v1/credits');
    // Another status means that the polling exceeded `read_rpm`.
    if (received.status === 200 && jsonOf<{ data: { held: number } }>(received).data.held === 0) return;
    if (performance.now() > deadline) throw new Error(`still held after ${timeoutMs} ms: ${received.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
