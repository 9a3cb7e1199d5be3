import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  END_HEADERS,
  END_STREAM,
  type Field,
  FRAME,
  frame,
  headerBlock,
  openRawHttp2,
  setting,
} from '../../harness/raw-http2.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/**
 * Bounds of one address in Envoy (`listen.address_connections`, `address_requests`, `address_rps`).
 * Each address of 127.0.0.0/8 stands for another client.
 */

const PER_SECOND = 5;
const MOST_OPEN = 150;
const MOST_REQUESTS = 6;
const TRUSTED_PROXY = '127.0.0.9';

const gateway = withGateway({
  config: {
    providers: { nobody: { base_url: 'http://127.0.0.1:9/v1' } },
    models: { any: {} },
    address_rps: PER_SECOND,
    address_connections: MOST_OPEN,
    address_requests: MOST_REQUESTS,
    trusted_proxies: [TRUSTED_PROXY],
  },
});

/** Sends a request without a key, so that only the address can be counted. */
async function ask(localAddress: string, path = '/v1/models'): Promise<{ response: IncomingMessage; body: string }> {
  const outgoing = request(`${gateway.stack.origin}${path}`, { localAddress, agent: false }).end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { response, body: await text(response) };
}

async function manyFrom(address: string, path?: string): Promise<Awaited<ReturnType<typeof ask>>[]> {
  return Promise.all(Array.from({ length: 100 }, () => ask(address, path)));
}

test('an address is refused above its bound, with an error of the API, and others are not', async () => {
  const flooding = await manyFrom('127.0.0.2');
  const refused = flooding.filter(({ response }) => response.statusCode === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { response, body } of refused) {
    expect(JSON.parse(body)).toEqual({
      error: {
        message: 'Too many requests from this address.',
        type: 'rate_limit_error',
        code: 'rpm_exceeded',
        metadata: {},
      },
    });
    expect(response.headers).toMatchObject({ 'retry-after': '1', 'x-request-id': expect.any(String) });
  }
  // A burst may have twice the rate of a second, and more was allowed while requests were sent.
  expect(flooding.length - refused.length).toBeGreaterThanOrEqual(2 * PER_SECOND);
  const { response } = await ask('127.0.0.3');
  expect(response.statusCode).toBe(401);
});

test('a client of the Messages API is refused in the form of that API', async () => {
  const flooding = await manyFrom('127.0.0.8', '/v1/messages?beta=true');
  const refused = flooding.filter(({ response }) => response.statusCode === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { response, body } of refused) {
    const id = response.headers['x-request-id'];
    expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { code: 'rpm_exceeded' }, request_id: id });
    expect(response.headers).toMatchObject({ 'retry-after': '1', 'request-id': id });
  }
});

test('a trusted proxy has many clients, and no bound', async () => {
  const statuses = (await manyFrom(TRUSTED_PROXY)).map(({ response }) => response.statusCode);
  expect(new Set(statuses)).toEqual(new Set([401]));
});

/** Opens connections. Resolves when Envoy has accepted or closed each of them. */
async function openFrom(localAddress: string, count: number): Promise<Socket[]> {
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port: gateway.stack.apiPort, host: '127.0.0.1', localAddress });
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    }),
  );
  // Envoy accepts in order, so it has decided about all of them when it responds to this request.
  await ask(TRUSTED_PROXY);
  return sockets;
}

const stillOpen = (sockets: readonly Socket[]): number => sockets.filter(({ closed }) => !closed).length;

test('connections of an address above its bound are closed until others end; other addresses are served', async () => {
  const flooding = await openFrom('127.0.0.4', MOST_OPEN + 50);
  await expect.poll(() => stillOpen(flooding)).toBe(MOST_OPEN);
  const [another] = await openFrom('127.0.0.4', 1);
  await expect.poll(() => another?.closed).toBe(true);
  expect((await ask('127.0.0.5')).response.statusCode).toBe(401);
  for (const socket of flooding) socket.destroy();
  await expect.poll(async () => (await ask('127.0.0.4').catch(() => undefined))?.response.statusCode).toBe(401);
});

test('a trusted proxy may have more connections', async () => {
  const sockets = await openFrom(TRUSTED_PROXY, MOST_OPEN + 50);
  expect(stillOpen(sockets)).toBe(MOST_OPEN + 50);
  for (const socket of sockets) socket.destroy();
});

test('a connection that keeps sending HTTP/2 frames of one byte is closed', async () => {
  const flooding = await openRawHttp2(gateway.stack.apiPort, { localAddress: '127.0.0.6' });
  const fields: Field[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/v1/chat/completions'],
    [':authority', 'gateway'],
  ];
  flooding.send(frame(FRAME.headers, END_HEADERS, 1, headerBlock(fields)));
  const frames = Buffer.concat(Array.from({ length: 10_000 }, () => frame(FRAME.data, 0, 1, Buffer.from(' '))));
  while (!flooding.socket.destroyed) {
    flooding.send(frames);
    await sleep(1);
  }
  expect((await ask('127.0.0.7')).response.statusCode).toBe(401);
});

/** Sends a request on each stream, and does not read the responses. */
async function unreadFrom(localAddress: string, streams: readonly number[]) {
  const connection = await openRawHttp2(gateway.stack.apiPort, { localAddress, settings: setting(INITIAL_WINDOW, 0) });
  connection.send(
    ...streams.map((stream) => frame(FRAME.headers, END_HEADERS | END_STREAM, stream, headerBlock(reading))),
  );
  return connection;
}

/** Resolves when each response has begun. None ends, because none is read. */
async function openUnreadFrom(localAddress: string, streams: readonly number[]) {
  const connection = await unreadFrom(localAddress, streams);
  for (const stream of streams) {
    await expect.poll(() => connection.answer(stream)).toMatchObject({ end: undefined });
  }
  return connection;
}

const INITIAL_WINDOW = 4;
const reading: Field[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/v1/models'],
  [':authority', 'gateway'],
];

test('the connection whose request exceeds the bound of its address is closed, and no other', async () => {
  const first = await openUnreadFrom('127.0.0.10', [1, 3, 5, 7]);
  const second = await openUnreadFrom('127.0.0.10', [1, 3]);
  const third = await unreadFrom('127.0.0.10', [1]);
  await third.closed;
  const other = await openUnreadFrom('127.0.0.11', [1]);
  expect([first, second, other].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  second.send(frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, 8])));
  first.socket.destroy();
  await first.closed;
  // Five requests have ended: one was reset, and four were on the closed connection.
  await expect
    .poll(async () => {
      const again = await unreadFrom('127.0.0.10', [1, 3, 5, 7, 9]);
      await expect.poll(() => again.socket.destroyed || again.answer(9) !== undefined).toBe(true);
      const stays = !again.socket.destroyed;
      again.socket.destroy();
      return stays;
    })
    .toBe(true);
  for (const { socket } of [second, other]) socket.destroy();
});

test('a trusted proxy may have more requests open', async () => {
  const streams = Array.from({ length: 4 * MOST_REQUESTS }, (_, index) => 2 * index + 1);
  const proxy = await unreadFrom(TRUSTED_PROXY, streams);
  await expect.poll(() => streams.every((stream) => proxy.answer(stream) !== undefined)).toBe(true);
  expect(proxy.socket.destroyed).toBe(false);
  proxy.socket.destroy();
});
