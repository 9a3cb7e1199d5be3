import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { createStripeClient, isMissingAtStripe, isStripeAway } from './stripe-client.ts';

const TIMEOUT_MS = 300;
/** Far above the delay on a slow machine, and below every other time-out of a call. */
const IN_TIME_MS = 10_000;

const HEADERS = 'HTTP/1.1 200 OK\r\nx-slow: ';
const BODY = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10000\r\n\r\n{"id":"';
/** Too short for an idle time-out to end the connection. */
const TRICKLE_MS = 50;

let server: Server | undefined;
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** Starts a server that sends `answer` on every connection, then repeats `more`. */
async function saying(answer: string, more = '', protocol = 'http'): Promise<StripeConfig> {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(answer);
      const trickle = setInterval(() => socket.write(more), TRICKLE_MS);
      socket.on('close', () => clearInterval(trickle));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    ...{ secretKey: 'sk_test_secret', webhookSecret: 'whsec_1', currency: 'usd', presetsUsd: [10] },
    ...{ leastUsd: 5, mostUsd: 5000, invoices: false, apiBase: new URL(`${protocol}://127.0.0.1:${port}`) },
  };
}

async function callOf(config: StripeConfig): Promise<unknown> {
  const stripe = await createStripeClient(config, TIMEOUT_MS);
  return stripe.paymentIntents.retrieve('pi_1', {}, { maxNetworkRetries: 0 }).then(
    () => 'answered',
    (error: unknown) => error,
  );
}

test.each([
  ['never answers', '', '', 'http'],
  ['never finishes the handshake of TLS', '', '', 'https'],
  ['stops in the middle of an answer', BODY, '', 'http'],
  ['sends headers without end', HEADERS, 'x', 'http'],
  ['sends a body without end', BODY, 'x', 'http'],
])('a call to a Stripe that %s ends in time', { timeout: IN_TIME_MS }, async (_, answer, more, protocol) => {
  const error = await callOf(await saying(answer, more, protocol));
  expect([isStripeAway(error), isMissingAtStripe(error), error]).toEqual([true, false, expect.any(Error)]);
});

test('the secret key is removed from an error that quotes it', async () => {
  const body = JSON.stringify({ error: { type: 'invalid_request_error', message: 'Invalid key sk_test_secret' } });
  const head = `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  expect(await callOf(await saying(head + body))).toMatchObject({ message: 'Invalid key [secret key]' });
});
