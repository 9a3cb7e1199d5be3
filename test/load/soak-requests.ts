import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayClient, gatewayClient, outcome } from '../harness/gateway-client.ts';
import type { Received } from '../harness/http-client.ts';
import { BY, type Customer } from '../harness/operator.ts';
import type { Stack } from '../harness/stack.ts';
import {
  endWithoutDone,
  errorAnswer,
  errorEvent,
  plainAnswer,
  rawAnswer,
  reset,
  streamAnswer,
  streamThen,
} from '../provider/acts.ts';
import type { Act } from '../provider/call.ts';

/**
 * Work of the clients of a soak test. Every kind of request has one expected outcome. Any other is
 * a fault.
 */
export interface SoakScene {
  readonly stack: Stack;
  readonly customer: Customer;
  readonly clients: readonly GatewayClient[];
}

export interface RequestKind {
  readonly name: string;
  /** Percentage; all shares add up to 100. */
  readonly share: number;
  readonly expected: string;
  /** Resolves with the outcome. */
  run(scene: SoakScene, client: GatewayClient): Promise<string>;
}

/** Acts of the provider by model name. */
export const SOAK_ACTS: Readonly<Record<string, Act>> = {
  plain: plainAnswer,
  paced: streamAnswer({ pieces: Array.from({ length: 20 }, (_, index) => ` word${index}`), paceMs: 25 }),
  broken: errorAnswer(500, 'broken'),
  busy: errorAnswer(429, 'busy'),
  gone: reset,
  garbage: rawAnswer(200, {}, 'garbage'),
  cut: streamThen(3, reset),
  short: streamThen(3, endWithoutDone),
  failing: streamThen(3, errorEvent()),
};

export const REQUEST_KINDS: readonly RequestKind[] = [
  chat('json', 32, 'whole', { model: 'plain' }),
  chat('stream', 30, 'whole', { model: 'plain', stream: true }),
  chat('provider broken', 2, '503 upstream_error', { model: 'broken' }),
  chat('provider busy', 2, '503 no_capacity', { model: 'busy', stream: true }),
  chat('provider resets', 2, '503 upstream_error', { model: 'gone' }),
  chat('provider answers garbage', 2, '503 upstream_error', { model: 'garbage' }),
  chat('stream is reset', 2, 'final error event', { model: 'cut', stream: true }),
  chat('stream ends early', 2, 'final error event', { model: 'short', stream: true }),
  chat('stream brings an error', 2, 'final error event', { model: 'failing', stream: true }),
  chat('unknown field', 2, '400 unknown_parameter', { model: 'plain', tempo: 1 }),
  chat('unknown model', 1, '404 model_not_found', { model: 'nobody' }),
  { name: 'no JSON', share: 1, expected: '400 invalid_json', run: (_, client) => raw(client, '{"model":') },
  { name: 'leaves a stream', share: 5, expected: 'left', run: (_, client) => leave(client) },
  { name: 'leaves at once', share: 2, expected: 'left', run: (_, client) => leaveAtOnce(client) },
  { name: 'asks twice', share: 4, expected: 'replayed', run: (_, client) => askTwice(client) },
  { name: 'leaves and asks again', share: 2, expected: 'replayed', run: (_, client) => leaveAndAskAgain(client) },
  { name: 'models', share: 3, expected: '200', run: (_, client) => read(client, '/v1/models') },
  { name: 'credits', share: 2, expected: '200', run: (_, client) => read(client, '/v1/credits') },
  { name: 'usage', share: 1, expected: '200', run: (_, client) => read(client, '/v1/usage') },
  { name: 'key made and revoked', share: 1, expected: '200, 401 key_revoked', run: makeAndRevoke },
];

function chat(name: string, share: number, expected: string, body: Readonly<Record<string, unknown>>): RequestKind {
  return { name, share, expected, run: async (_, client) => ending(await client.chat(body)) };
}

/** The outcome of a completion, as its client sees it. */
function ending(received: Received): string {
  if (received.status !== 200) return outcome(received);
  const { text } = received;
  if (text.includes('"finish_reason":"error"') && text.endsWith('data: [DONE]\n\n')) return 'final error event';
  return text.includes('"finish_reason":"stop"') && /(\}|data: \[DONE\]\n\n)$/.test(text) ? 'whole' : 'cut short';
}

async function raw(client: GatewayClient, body: string): Promise<string> {
  return outcome(await client.send({ path: '/v1/chat/completions', body }));
}

async function read(client: GatewayClient, path: string): Promise<string> {
  return outcome(await client.get(path));
}

/** Disconnects when the response has started. */
async function leave(client: GatewayClient, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const leaving = new AbortController();
  const more = { headers, signal: leaving.signal, onPiece: () => leaving.abort() };
  return client.chat({ model: 'paced', stream: true }, more).then(() => 'stayed', whyCut);
}

/** Disconnects before the response. */
async function leaveAtOnce(client: GatewayClient): Promise<string> {
  const leaving = { signal: AbortSignal.timeout(5) };
  return client.chat({ model: 'paced', stream: true }, leaving).then(() => 'stayed', whyCut);
}

function whyCut(error: Error): string {
  return ['AbortError', 'TimeoutError'].includes(error.name) ? 'left' : error.message;
}

async function askTwice(client: GatewayClient): Promise<string> {
  const headers = { 'idempotency-key': randomUUID() };
  const body = { model: 'plain', stream: true };
  const first = await client.chat(body, { headers });
  if (ending(first) !== 'whole') return ending(first);
  const again = await client.chat(body, { headers });
  return again.headers['idempotent-replayed'] === 'true' && again.text === first.text ? 'replayed' : ending(again);
}

const MAX_ASKED = 40;

/**
 * The gateway reads the first response to its end without the client. The client's retry gets a
 * replay.
 */
async function leaveAndAskAgain(client: GatewayClient): Promise<string> {
  const headers = { 'idempotency-key': randomUUID() };
  const left = await leave(client, headers);
  if (left !== 'left') return left;
  for (let asked = 1; ; asked++) {
    const again = await client.chat({ model: 'paced', stream: true }, { headers });
    if (again.headers['idempotent-replayed'] === 'true') return ending(again) === 'whole' ? 'replayed' : ending(again);
    if (again.status !== 409 || asked === MAX_ASKED) return ending(again);
    await sleep(100);
  }
}

async function makeAndRevoke({ stack, customer }: SoakScene): Promise<string> {
  const { administration } = stack.operator;
  const made = await stack.operator.addKey(customer.organizationId);
  const client = gatewayClient(stack.origin, made.key);
  const before = outcome(await client.get('/v1/models'));
  await administration.revokeKey(made.keyId, BY);
  const after = outcome(await client.get('/v1/models'));
  client.close();
  return `${before}, ${after}`;
}
