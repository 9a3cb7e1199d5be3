import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import {
  answer,
  data,
  dataOf,
  END_HEADERS,
  END_STREAM,
  headers,
  OPENING,
  type RawClient,
  type RawServer,
  rawFrame,
  requestBlock,
  resets,
  type Served,
  serveRaw,
  setting,
  uint32,
  waitFor,
} from './frames.fixture.ts';
import {
  DEFAULT_WINDOW_BYTES,
  FrameType,
  Http2ErrorCode,
  PREFACE,
  RECEIVED_FRAME_BYTES,
  Setting,
  STREAM_WINDOW_BYTES,
} from './protocol.ts';

let server: RawServer;
afterEach(() => server.close());

async function start(onStream?: (served: Served) => void): Promise<RawClient> {
  server = await serveRaw(onStream);
  return server.open();
}

describe('flow control', () => {
  test("a paused stream receives a window of bytes, and is reset beyond it; the connection's window is given back", async () => {
    const client = await start(({ stream }) => (stream.id === 1 ? stream.pause() : undefined));
    client.socket.write(Buffer.concat([OPENING, headers(1), headers(3)]));
    const piece = Buffer.alloc(16_384, 'x');
    const pieces = STREAM_WINDOW_BYTES / piece.length;
    for (let sent = 0; sent < pieces; sent++) client.socket.write(data(1, piece));
    client.socket.write(data(3, 'still heard'));
    await waitFor(() => server.served[1]?.data === 'still heard');
    const updates = () => client.ofType(FrameType.windowUpdate).filter(({ streamId }) => streamId === 1);
    expect(updates()).toEqual([]);
    server.served[0]?.stream.resume();
    expect(server.served[0]?.data.length).toBe(STREAM_WINDOW_BYTES);
    await waitFor(() => updates().length > 0);
    expect(updates().reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)).toBe(STREAM_WINDOW_BYTES);
    server.served[0]?.stream.pause();
    for (let sent = 0; sent <= pieces; sent++) client.socket.write(data(1, piece));
    await waitFor(() => resets(client).length > 0);
    // Frames still on the way arrive at a closed stream and are reset, too.
    expect(resets(client)[0]).toEqual([1, Http2ErrorCode.flowControl]);
  });

  test('announces the longest frame, and accepts it', async () => {
    const client = await start();
    const body = Buffer.alloc(RECEIVED_FRAME_BYTES, 'x');
    client.socket.write(Buffer.concat([OPENING, headers(1), data(1, body)]));
    await waitFor(() => server.served[0]?.data.length === body.length);
    const said = setting(Setting.maxFrameSize, RECEIVED_FRAME_BYTES);
    expect(client.ofType(FrameType.settings)[0]?.payload.includes(said)).toBe(true);
  });

  test("gives the connection's window back as data comes, even for a stream that reads nothing", async () => {
    const client = await start(({ stream }) => stream.pause());
    client.socket.write(OPENING);
    const piece = Buffer.alloc(16_384, 'x');
    let sent = 0;
    // More than the connection's first window of 16 MiB, over streams that never read.
    for (let streamId = 1; sent < 17 * 1024 * 1024; streamId += 2) {
      client.socket.write(headers(streamId));
      for (let left = STREAM_WINDOW_BYTES; left > 0; left -= piece.length, sent += piece.length)
        client.socket.write(data(streamId, piece));
    }
    client.socket.write(rawFrame(FrameType.ping, 0, 0, Buffer.alloc(8)));
    await waitFor(() => client.ofType(FrameType.ping).length === 1);
    const updates = client.ofType(FrameType.windowUpdate).filter(({ streamId }) => streamId === 0);
    expect(updates.length).toBeLessThan(5);
    expect(client.closed()).toBe(false);
  });

  test('a response respects the windows of its stream and of its connection', async () => {
    const body = Buffer.alloc(100_000, 'y');
    const client = await start((served) => answer(served, body));
    const window = setting(Setting.initialWindowSize, 30_000);
    client.socket.write(
      Buffer.concat([OPENING, rawFrame(FrameType.settings, 0, 0, window), headers(1), headers(3), headers(5)]),
    );
    const got = () => [1, 3, 5].map((streamId) => dataOf(client, streamId).length);
    // 65,535 for all of them, and a frame of each in turn.
    await waitFor(() => got().reduce((sum, bytes) => sum + bytes, 0) === 65_535);
    expect(Math.min(...got())).toBeGreaterThanOrEqual(16_384);
    client.socket.write(rawFrame(FrameType.windowUpdate, 0, 0, uint32(1_000_000)));
    await waitFor(() => got().join() === '30000,30000,30000');
    // Less than what was sent already: the window is below zero, and 40,000 more make up for it.
    client.socket.write(rawFrame(FrameType.settings, 0, 0, setting(Setting.initialWindowSize, 0)));
    for (const streamId of [1, 3, 5])
      client.socket.write(rawFrame(FrameType.windowUpdate, 0, streamId, uint32(40_000)));
    await waitFor(() => got().join() === '40000,40000,40000');
    client.socket.write(rawFrame(FrameType.settings, 0, 0, setting(Setting.initialWindowSize, 70_000)));
    await waitFor(() => got().join() === '100000,100000,100000');
    expect(Math.max(...client.ofType(FrameType.data).map(({ payload }) => payload.length))).toBe(16_384);
    expect(client.ofType(FrameType.headers).filter(({ flags }) => flags & END_STREAM).length).toBe(3);
  });

  test('frames are as long as the client wants them', async () => {
    const client = await start((served) => answer(served, Buffer.alloc(60_000)));
    const longer = setting(Setting.maxFrameSize, 50_000);
    client.socket.write(Buffer.concat([OPENING, rawFrame(FrameType.settings, 0, 0, longer), headers(1)]));
    await waitFor(() => dataOf(client, 1).length === 60_000);
    expect(client.ofType(FrameType.data).map(({ payload }) => payload.length)).toEqual([50_000, 10_000]);
  });

  test('responses of any length arrive completely through any windows, never beyond them', {
    timeout: 60_000,
  }, async () => {
    const opened = await start((served) => answer(served, Buffer.alloc(Number(served.path.slice(1)), 'z')));
    opened.socket.destroy();
    const lengths = fc.array(fc.oneof(fc.constant(0), fc.nat(50_000)), { minLength: 1, maxLength: 4 });
    const steps = fc.array(fc.constantFrom(1, 700, 16_384, 40_000), { maxLength: 4 }).map((some) => [...some, 9_000]);
    await fc.assert(
      fc.asyncProperty(lengths, fc.constantFrom(0, 1, 1_000, 100_000), steps, async (bodies, first, sizes) => {
        const client = await server.open();
        const idOf = (index: number) => 2 * index + 1;
        const requests = bodies.map((bytes, index) =>
          headers(idOf(index), END_HEADERS | END_STREAM, requestBlock(`/${bytes}`)),
        );
        const window = rawFrame(FrameType.settings, 0, 0, setting(Setting.initialWindowSize, first));
        client.socket.write(Buffer.concat([PREFACE, window, ...requests]));
        const granted = bodies.map((): number => first);
        let grantedToAll = DEFAULT_WINDOW_BYTES;
        const ended = () => client.ofType(FrameType.headers).filter(({ flags }) => flags & END_STREAM).length;
        for (let round = 0; ended() < bodies.length; round++) {
          const step = sizes[round % sizes.length] ?? 1;
          const got = bodies.map((_, index) => dataOf(client, idOf(index)).length);
          const gotByAll = got.reduce((sum, bytes) => sum + bytes, 0);
          expect(gotByAll).toBeLessThanOrEqual(grantedToAll);
          for (const [index, bytes] of got.entries()) {
            expect(bytes).toBeLessThanOrEqual(granted[index] ?? 0);
            // Only who has used all of it gets more: each time the stream has to be woken again.
            if (bytes < (granted[index] ?? 0) || bytes === bodies[index]) continue;
            granted[index] = bytes + step;
            client.socket.write(rawFrame(FrameType.windowUpdate, 0, idOf(index), uint32(step)));
          }
          if (gotByAll === grantedToAll) {
            grantedToAll += step;
            client.socket.write(rawFrame(FrameType.windowUpdate, 0, 0, uint32(step)));
          }
          await turn();
        }
        expect(bodies.map((_, index) => dataOf(client, idOf(index)).length)).toEqual(bodies);
        client.socket.destroy();
      }),
      { numRuns: 40 },
    );
  });
});
