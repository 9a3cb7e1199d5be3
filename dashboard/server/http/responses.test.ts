import { once } from 'node:events';
import { type ClientRequest, get, request } from 'node:http';
import { connect } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '#core/log/log.ts';
import { PATIENCE_MS } from '#test/fixtures/patience.ts';
import type { App } from '../app.ts';
import { type Listener, listenOn } from '../listen.ts';
import { Bound } from './bound.ts';
import { sendJson, streamCsv } from './responses.ts';

const TAKE_MS = 300;
const PIECE = 'a,b\r\n'.repeat(20_000);
/** More pieces than the buffers at both ends of a connection hold. */
const ENDLESS = 1_000;

/** Larger than the buffers of a connection, so the response waits for its reader. */
const LONG = { text: 'x'.repeat(8 * 1024 * 1024) };
const responses = new Bound(42 * 1024 * 1024, 20 * 1024 * 1024);
const sending: HttpBindings['outgoing'][] = [];

let listener: Listener;
const end = vi.fn();
let lines: () => AsyncGenerator<string>;

beforeAll(async () => {
  const app: App = new Hono();
  const log = createLog('silent');
  app.get('/table.csv', (context) => streamCsv(context, { lines: lines(), end }, log, TAKE_MS));
  app.get('/json/:owner', (context) => {
    sending.push(context.env.outgoing);
    return sendJson(context, LONG, responses, context.req.param('owner'));
  });
  listener = await listenOn(app, { host: '127.0.0.1', port: 0 });
});
beforeEach(() => {
  end.mockReset();
});
afterAll(() => listener.close());

const addressOfTable = () => `http://127.0.0.1:${listener.port}/table.csv`;

async function* pieces(count: number): AsyncGenerator<string> {
  for (let piece = 0; piece < count; piece++) yield PIECE;
}

const placeBack = () => vi.waitFor(() => expect(end).toHaveBeenCalled(), { timeout: PATIENCE_MS });

it('a table that is read to its end frees its slot', async () => {
  lines = () => pieces(3);
  expect(await (await fetch(addressOfTable())).text()).toBe(PIECE.repeat(3));
  await placeBack();
});

it('a table that breaks off frees its slot', async () => {
  lines = async function* () {
    yield* pieces(3);
    throw new Error('the disk is on fire');
  };
  await expect(fetch(addressOfTable()).then((answer) => answer.text())).rejects.toThrow();
  await placeBack();
});

it('a table whose reader disconnects frees its slot', async () => {
  lines = () => pieces(ENDLESS);
  const sent = get(addressOfTable(), { agent: false });
  const [answer] = await once(sent, 'response');
  await once(
    answer.on('error', () => undefined),
    'data',
  );
  expect(end).not.toHaveBeenCalled();
  sent.destroy();
  await placeBack();
});

it('a table that nobody reads frees its slot', async () => {
  lines = () => pieces(ENDLESS);
  const [answer] = await once(request(addressOfTable(), { method: 'HEAD', agent: false }).end(), 'response');
  answer.resume();
  await placeBack();
});

it('disconnects a reader that reads nothing in time, but not one that waits for a slow table', async () => {
  lines = () => pieces(ENDLESS);
  const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  const startMs = performance.now();
  socket.pause().write('GET /table.csv HTTP/1.1\r\nhost: dashboard\r\n\r\n');
  await placeBack();
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(TAKE_MS - 10);
  socket.destroy();

  lines = async function* () {
    for (let piece = 0; piece < 4; piece++) {
      await new Promise((resolve) => setTimeout(resolve, TAKE_MS / 2));
      yield PIECE;
    }
  };
  expect(await (await fetch(addressOfTable())).text()).toBe(PIECE.repeat(4));
});

const unreadRequests: ClientRequest[] = [];

/**
 * Sends a request as `owner` without reading the response. The returned function tells whether the
 * response has been cut off.
 */
async function unread(owner: string): Promise<() => boolean> {
  const sent = get(`http://127.0.0.1:${listener.port}/json/${owner}`, { agent: false });
  const [answer] = await once(sent, 'response');
  answer.on('error', () => undefined);
  unreadRequests.push(sent);
  const outgoing = sending.at(-1);
  return () => outgoing?.destroyed === true;
}

const read = async (owner: string) => {
  const answer = await fetch(`http://127.0.0.1:${listener.port}/json/${owner}`);
  const { text } = (await answer.json()) as typeof LONG;
  return [answer.status, answer.headers.get('content-type'), text.length];
};

it('unread JSON is cut off when its user requests more, and other users get theirs', async () => {
  const mine = [await unread('a'), await unread('a'), await unread('a'), await unread('a')];
  expect(mine.map((isCut) => isCut())).toEqual([true, true, false, false]);
  const others = [await unread('b'), await unread('b')];
  expect(await read('c')).toEqual([200, 'application/json', LONG.text.length]);
  expect([...mine, ...others].map((isCut) => isCut())).toEqual([true, true, false, false, false, false]);
  await unread('d');
  for (let round = 0; round < 6; round++) expect((await read('c'))[0]).toBe(200);
  expect(mine.map((isCut) => isCut())).toEqual([true, true, true, false]);
  for (const one of unreadRequests) one.destroy();
});
