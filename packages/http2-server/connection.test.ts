import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import {
  answer,
  data,
  dataOf,
  END_HEADERS,
  END_STREAM,
  headers,
  literal,
  OPENING,
  type RawClient,
  type RawServer,
  rawFrame,
  requestBlock,
  resets,
  type Served,
  STATUS_200,
  serveRaw,
  TRAILERS,
  uint32,
  waitFor,
} from './frames.fixture.ts';
import { FrameType, Http2ErrorCode } from './protocol.ts';

let server: RawServer;
afterEach(() => server.close());

async function start(onStream?: (served: Served) => void): Promise<RawClient> {
  server = await serveRaw(onStream);
  return server.open();
}

describe('a stream', () => {
  test('receives the request and sends the response; both sides end, and it is closed', async () => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, headers(1), data(1, 'ab'), data(1, 'c', END_STREAM)]));
    await waitFor(() => server.served[0]?.events.length === 1);
    const [served] = server.served;
    expect(served).toMatchObject({ path: '/x', data: 'abc', events: ['end'] });
    if (served !== undefined) answer(served, 'fine');
    await waitFor(() => client.ofType(FrameType.headers).length === 2);
    expect(served?.events).toEqual(['end', 'closed']);
    const kinds = client
      .frames()
      .filter(({ streamId }) => streamId === 1)
      .map(({ type, flags }) => [type, flags]);
    expect(kinds).toEqual([
      [FrameType.headers, END_HEADERS],
      [FrameType.data, 0],
      [FrameType.headers, END_HEADERS | END_STREAM],
    ]);
    expect(String(dataOf(client, 1))).toBe('fine');
  });

  test('accepts padded data, priorities, and headers in pieces', async () => {
    const client = await start();
    const block = requestBlock('/pieces');
    const padded = Buffer.concat([Buffer.of(3), uint32(0), Buffer.of(16), block.subarray(0, 4), Buffer.alloc(3)]);
    client.socket.write(
      Buffer.concat([
        OPENING,
        rawFrame(FrameType.headers, 8 | 32, 1, padded),
        rawFrame(FrameType.continuation, 0, 1, block.subarray(4, 6)),
        rawFrame(FrameType.continuation, END_HEADERS, 1, block.subarray(6)),
        rawFrame(FrameType.priority, 0, 1, Buffer.alloc(5)),
        rawFrame(0x42, 0xff, 1, Buffer.from('of no known type')),
        data(1, Buffer.from([2, 0x61, 0, 0]), 8 | END_STREAM),
      ]),
    );
    await waitFor(() => server.served[0]?.events.length === 1);
    expect(server.served[0]).toMatchObject({ path: '/pieces', data: 'a' });
  });

  test('that is paused still receives data that was on its way, and its end, once', async () => {
    const client = await start(({ stream }) => stream.pause());
    client.socket.write(Buffer.concat([OPENING, headers(1), data(1, 'ab'), data(1, 'c', END_STREAM)]));
    await waitFor(() => server.served[0]?.events.length === 1);
    const [served] = server.served;
    served?.stream.resume();
    expect(served).toMatchObject({ data: 'abc', events: ['end'] });
  });

  test('that is reset is closed, and what is written to it goes nowhere', async () => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, headers(1), rawFrame(FrameType.reset, 0, 1, uint32(8))]));
    await waitFor(() => server.served[0]?.events.length === 1);
    expect(server.served[0]?.events).toEqual(['closed']);
    for (const served of server.served) answer(served, 'late');
    client.socket.write(rawFrame(FrameType.ping, 0, 0, Buffer.alloc(8)));
    await waitFor(() => client.ofType(FrameType.ping).length === 1);
    expect(client.frames().filter(({ streamId }) => streamId === 1)).toEqual([]);
  });

  test.each<[string, Buffer[], number]>([
    ['a request without a path', [headers(1, END_HEADERS, Buffer.of(0x83, 0x86))], Http2ErrorCode.protocol],
    [
      'more than was declared',
      [headers(1, END_HEADERS, requestBlock('/', literal('content-length', '2'))), data(1, 'abc')],
      Http2ErrorCode.protocol,
    ],
    [
      'less than was declared',
      [headers(1, END_HEADERS, requestBlock('/', literal('content-length', '2'))), data(1, 'a', END_STREAM)],
      Http2ErrorCode.protocol,
    ],
    ['data behind the end', [headers(1, END_HEADERS | END_STREAM), data(1, 'a')], Http2ErrorCode.streamClosed],
    ['trailers with a path', [headers(1), headers(1, END_HEADERS | END_STREAM)], Http2ErrorCode.protocol],
    ['trailers that do not end it', [headers(1), headers(1, END_HEADERS, TRAILERS)], Http2ErrorCode.protocol],
    [
      'trailers behind the end',
      [headers(1, END_HEADERS | END_STREAM), headers(1, END_HEADERS | END_STREAM, TRAILERS)],
      Http2ErrorCode.streamClosed,
    ],
    [
      'a window that grows by nothing',
      [headers(1), rawFrame(FrameType.windowUpdate, 0, 1, uint32(0))],
      Http2ErrorCode.protocol,
    ],
    [
      'a window beyond all',
      [headers(1), rawFrame(FrameType.windowUpdate, 0, 1, uint32(0x7fff_ffff))],
      Http2ErrorCode.flowControl,
    ],
  ])('with %s is reset, and the others go on', async (_, frames, code) => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, ...frames, headers(3, END_HEADERS | END_STREAM)]));
    await waitFor(() => server.served.at(-1)?.stream.id === 3 && resets(client).length > 0);
    expect(resets(client)).toEqual([[1, code]]);
    expect(server.served.find(({ stream }) => stream.id === 1)?.events.at(-1) ?? 'closed').toBe('closed');
    expect(server.served.at(-1)?.events).toEqual(['end']);
  });
});

describe('the connection', () => {
  test('acknowledges settings and pings, but not acknowledgements', async () => {
    const client = await start();
    const ping = Buffer.from('12345678');
    client.socket.write(
      Buffer.concat([
        OPENING,
        rawFrame(FrameType.settings, 1, 0),
        rawFrame(FrameType.ping, 1, 0, ping),
        rawFrame(FrameType.ping, 0, 0, ping),
        rawFrame(FrameType.goAway, 0, 0, uint32(0, 0)),
      ]),
    );
    await waitFor(() => client.ofType(FrameType.ping).length > 0);
    expect(client.ofType(FrameType.settings).map(({ flags }) => flags)).toEqual([0, 1]);
    expect(client.ofType(FrameType.ping)).toEqual([{ type: FrameType.ping, flags: 1, streamId: 0, payload: ping }]);
  });

  test('closes for a client that sends but never reads', async () => {
    const client = await start();
    client.socket.pause();
    client.socket.write(OPENING);
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => rawFrame(FrameType.ping, 0, 0, Buffer.alloc(8))));
    const sending = setInterval(() => client.socket.write(pings), 1);
    await waitFor(() => server.errors.length > 0);
    clearInterval(sending);
    expect(server.errors[0]).toBe(`HTTP/2 connection error ${Http2ErrorCode.enhanceYourCalm}`);
  });

  test('sends GOAWAY: streams in flight go on, later ones are ignored, and the client closes it', async () => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, headers(1)]));
    await waitFor(() => server.served.length === 1);
    server.server.stopAccepting();
    await waitFor(() => client.ofType(FrameType.goAway).length === 1);
    expect(client.ofType(FrameType.goAway)[0]?.payload).toEqual(uint32(1, 0));
    // The table must have read it all the same: the last headers refer to it.
    const kept = Buffer.concat([Buffer.of(0x40), literal(':path', '/kept').subarray(1)]);
    client.socket.write(
      Buffer.concat([headers(3, END_HEADERS, Buffer.concat([Buffer.of(0x83, 0x86), kept])), data(3, 'late')]),
    );
    client.socket.write(data(1, 'in time', END_STREAM));
    await waitFor(() => server.served[0]?.events.includes('end') === true);
    expect(server.served.map(({ data: bytes }) => bytes)).toEqual(['in time']);
    for (const served of server.served) answer(served, 'fine');
    await waitFor(() => server.served[0]?.events.includes('closed') === true);
    // A client that has not read the goodbye yet can still write.
    client.socket.write(Buffer.concat([headers(5), rawFrame(FrameType.ping, 0, 0, Buffer.alloc(8))]));
    await waitFor(() => client.ofType(FrameType.ping).length === 1);
    expect([String(dataOf(client, 1)), client.closed()]).toEqual(['fine', false]);
    let isAlone = false;
    const alone = server.server.clientsGone(60_000).then(() => {
      isAlone = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAlone).toBe(false);
    client.socket.end();
    await alone;
    expect([resets(client), server.errors, server.served[0]?.events]).toEqual([[], [], ['end', 'closed']]);
  });

  test('sends GOAWAY to connections that wait to be accepted: their requests are ignored, and none is reset', async () => {
    await start();
    const opening = Array.from({ length: 8 }, () => server.open());
    server.server.stopAccepting();
    await expect(server.open()).rejects.toThrow('ENOENT');
    const clients = await Promise.all(opening);
    for (const client of clients) client.socket.write(Buffer.concat([OPENING, headers(1)]));
    for (const client of clients) {
      await waitFor(() => client.closed() || client.ofType(FrameType.goAway).length === 1);
      expect(client.ofType(FrameType.goAway).map(({ payload }) => payload)).toEqual([uint32(0, 0)]);
      expect([client.closed(), resets(client)]).toEqual([false, []]);
    }
    expect([server.served, server.errors]).toEqual([[], []]);
  });

  test('is kept for the given time if its client does not close it', async () => {
    const client = await start();
    client.socket.write(OPENING);
    await waitFor(() => client.ofType(FrameType.settings).length > 0);
    server.server.stopAccepting();
    await server.server.clientsGone(20);
    expect(client.closed()).toBe(false);
    server.server.close();
    await waitFor(client.closed);
  });

  test('that breaks closes its streams', async () => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, headers(1), headers(3)]));
    await waitFor(() => server.served.length === 2);
    client.socket.destroy();
    await waitFor(() => server.served.every(({ events }) => events.join() === 'closed'));
  });
});

test("Node's client gets what is sent, over many streams at once", async () => {
  await start((served) => {
    const { stream } = served;
    stream.sendHeaders(STATUS_200);
    const check = setInterval(() => {
      if (!served.events.includes('end')) return;
      clearInterval(check);
      stream.sendData(Buffer.from(served.data, 'latin1'));
      stream.end(TRAILERS);
    }, 1);
  });
  const session = connectHttp2('http://any', { createConnection: () => connect(server.path) });
  const call = (bytes: Buffer) =>
    new Promise<[string, unknown]>((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': '/x', te: 'trailers' });
      const pieces: Buffer[] = [];
      let status: unknown;
      stream.on('data', (piece) => pieces.push(piece));
      stream.on('trailers', (trailers) => {
        status = trailers['grpc-status'];
      });
      stream.on('error', reject);
      stream.on('close', () => resolve([Buffer.concat(pieces).toString('latin1'), status]));
      stream.end(bytes);
    });
  const sizes = [1, 100, 16_384, 70_000, 300_000, 1_000_000];
  const bodies = sizes.map((size, at) => Buffer.alloc(size, `${at}-body-`));
  const answers = await Promise.all(bodies.map(call));
  expect(answers.map(([, status]) => status)).toEqual(sizes.map(() => '0'));
  for (const [at, [text]] of answers.entries()) expect(text === bodies[at]?.toString('latin1')).toBe(true);
  session.destroy();
});
