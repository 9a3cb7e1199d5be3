import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Hono } from 'hono';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { App } from './app.ts';
import { type Listener, listenOn } from './listen.ts';

/** More than the buffers at both ends of a connection hold. */
const LARGE = new Uint8Array(16 * 1024 * 1024);
const SEQUENCE = 1_000;

let listener: Listener;
let served: string[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  const app: App = new Hono();
  app.all('*', async (context) => {
    const { path, method } = context.req;
    served.push(`${method} ${path}`);
    if (path === '/large') return context.body(LARGE);
    return context.text(method === 'POST' ? await context.req.text() : 'short');
  });
  listener = await listenOn(app, { host: '127.0.0.1', port: 0 });
});
afterEach(() => {
  served = [];
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => listener.close());

async function open(): Promise<Socket> {
  const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: dashboard\r\n\r\n`;
const post = (body: string) =>
  `POST /echo HTTP/1.1\r\nhost: dashboard\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

/** Sends each request as soon as the last byte of the response before it arrives. */
function sendInSequence(socket: Socket, requests: readonly string[]): Promise<number> {
  let answered = 0;
  let left = 0;
  const send = () => socket.write(requests[answered] ?? '');
  return new Promise((resolve) => {
    socket.on('data', (piece) => {
      left += left === 0 ? lengthOf(piece) : 0;
      left -= piece.length;
      if (left > 0) return;
      answered += 1;
      if (answered === requests.length) resolve(answered);
      else send();
    });
    socket.once('close', () => resolve(answered));
    send();
  });
}

/** Length of a response by its first piece, which contains the head. */
function lengthOf(piece: Buffer): number {
  const head = piece.subarray(0, piece.indexOf('\r\n\r\n') + 4);
  return head.length + Number(/content-length: (\d+)/i.exec(head.toString())?.[1]);
}

describe('a connection', () => {
  it.each([
    ['GET', get('/')],
    ['POST', post('hello')],
  ])('serves one %s after the other, each sent when the last response ends', async (_, request) => {
    const requests = Array.from({ length: SEQUENCE }, () => request);
    expect(await sendInSequence(await open(), requests)).toBe(SEQUENCE);
    expect(served).toHaveLength(SEQUENCE);
  });

  it('serves requests after responses that exceed its buffers', async () => {
    const requests = Array.from({ length: 10 }, (_, index) => get(index % 2 === 0 ? '/large' : '/'));
    expect(await sendInSequence(await open(), requests)).toBe(requests.length);
  });

  it.each([
    ['packet', (socket: Socket) => void socket.write(get('/') + get('/second').repeat(1_000))],
    [
      'packet with an expectation',
      (socket: Socket) => void socket.write(get('/').replace('\r\n\r\n', '\r\nexpect: much\r\n\r\n').repeat(1_000)),
    ],
    [
      'connection',
      async (socket: Socket) => {
        socket.pause().write(get('/large'));
        await expect.poll(() => served).toEqual(['GET /large']);
        socket.resume().write(get('/second').repeat(1_000));
      },
    ],
  ])('is closed on a request that does not wait for the previous response, of the same %s', async (_, send) => {
    const socket = await open();
    await send(socket);
    socket.resume();
    await expect.poll(() => socket.destroyed).toBe(true);
    expect(served).toHaveLength(1);
  });
});
