import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { propertyRuns } from '../../test/fixtures/property-runs.ts';
import {
  answer,
  data,
  dataOf,
  END_HEADERS,
  goAwayCode,
  headers,
  OPENING,
  type RawClient,
  type RawServer,
  rawFrame,
  requestBlock,
  type Served,
  serveRaw,
  setting,
  uint32,
  waitFor,
} from './frames.fixture.ts';
import { FrameType, Http2ErrorCode, MAX_HEADER_LIST_BYTES, RECEIVED_FRAME_BYTES, Setting } from './protocol.ts';

/** HPACK's change of the dynamic table's size, to 0: a byte that decodes to no field. */
const NEW_TABLE_SIZE = 0x20;

let server: RawServer;
afterEach(() => server.close());

async function start(onStream?: (served: Served) => void): Promise<RawClient> {
  server = await serveRaw(onStream);
  return server.open();
}

describe('the connection', () => {
  const update = (streamId: number, ...values: number[]) =>
    rawFrame(FrameType.windowUpdate, 0, streamId, uint32(...values));
  const settings = (id: number, value: number) => rawFrame(FrameType.settings, 0, 0, setting(id, value));
  const endless = Array.from({ length: 17 }, () => rawFrame(FrameType.continuation, 0, 1));
  test.each<[string, Buffer, number]>([
    ['data before its headers', data(1, 'a'), Http2ErrorCode.protocol],
    ['data of the connection', data(0, 'a'), Http2ErrorCode.protocol],
    ['a stream of the server', headers(2), Http2ErrorCode.protocol],
    [
      'headers of a stream that was closed',
      Buffer.concat([headers(3), rawFrame(FrameType.reset, 0, 3, uint32(8)), headers(3)]),
      Http2ErrorCode.streamClosed,
    ],
    ['padding and nothing else', Buffer.concat([headers(1), data(1, Buffer.of(3, 0, 0), 8)]), Http2ErrorCode.protocol],
    ['padded data of no length', Buffer.concat([headers(1), data(1, '', 8)]), Http2ErrorCode.frameSize],
    ['headers that are all padding', headers(1, END_HEADERS | 8, Buffer.of(3, 0)), Http2ErrorCode.protocol],
    ['headers that make no sense', headers(1, END_HEADERS, Buffer.of(0xff)), Http2ErrorCode.compression],
    ['headers without an end', Buffer.concat([headers(1, 0), ...endless]), Http2ErrorCode.enhanceYourCalm],
    [
      'headers that are too long',
      Buffer.concat([headers(1, 0, Buffer.alloc(16_000)), rawFrame(FrameType.continuation, 0, 1, Buffer.alloc(1000))]),
      Http2ErrorCode.enhanceYourCalm,
    ],
    [
      'headers that are too long in one frame, though not decoded',
      headers(1, END_HEADERS, Buffer.concat([Buffer.alloc(MAX_HEADER_LIST_BYTES, NEW_TABLE_SIZE), requestBlock()])),
      Http2ErrorCode.enhanceYourCalm,
    ],
    [
      'another frame within headers',
      Buffer.concat([headers(1, 0), rawFrame(FrameType.ping, 0, 0, Buffer.alloc(8))]),
      Http2ErrorCode.protocol,
    ],
    ['data within headers', Buffer.concat([headers(1), headers(3, 0), data(1, 'a')]), Http2ErrorCode.protocol],
    ['a continuation of nothing', rawFrame(FrameType.continuation, END_HEADERS, 1), Http2ErrorCode.protocol],
    [
      'a continuation of another stream',
      Buffer.concat([headers(1, 0), rawFrame(FrameType.continuation, END_HEADERS, 3)]),
      Http2ErrorCode.protocol,
    ],
    ['a reset of a stream that is not there', rawFrame(FrameType.reset, 0, 1, uint32(8)), Http2ErrorCode.protocol],
    [
      'a reset of another length',
      Buffer.concat([headers(1), rawFrame(FrameType.reset, 0, 1)]),
      Http2ErrorCode.frameSize,
    ],
    ['a push', rawFrame(FrameType.pushPromise, END_HEADERS, 1, uint32(2)), Http2ErrorCode.protocol],
    ['a priority of another length', rawFrame(FrameType.priority, 0, 1), Http2ErrorCode.frameSize],
    ['a ping of another length', rawFrame(FrameType.ping, 0, 0), Http2ErrorCode.frameSize],
    ['a ping of a stream', rawFrame(FrameType.ping, 0, 1, Buffer.alloc(8)), Http2ErrorCode.protocol],
    ['settings of a stream', rawFrame(FrameType.settings, 0, 1), Http2ErrorCode.protocol],
    ['settings of half a length', rawFrame(FrameType.settings, 0, 0, Buffer.alloc(5)), Http2ErrorCode.frameSize],
    ['an acknowledgement with settings', rawFrame(FrameType.settings, 1, 0, setting(1, 1)), Http2ErrorCode.frameSize],
    ['a push that is neither on nor off', settings(Setting.enablePush, 2), Http2ErrorCode.protocol],
    ['a window beyond all', settings(Setting.initialWindowSize, 2 ** 31), Http2ErrorCode.flowControl],
    ['frames too short', settings(Setting.maxFrameSize, 16_383), Http2ErrorCode.protocol],
    ['frames beyond all', settings(Setting.maxFrameSize, 2 ** 24), Http2ErrorCode.protocol],
    [
      'windows of streams that grow beyond all',
      Buffer.concat([headers(1), update(1, 0x7fff_0000), settings(Setting.initialWindowSize, 0x7fff_ffff)]),
      Http2ErrorCode.flowControl,
    ],
    ['a window that grows by nothing', update(0, 0), Http2ErrorCode.protocol],
    ['a window that grows beyond all', update(0, 0x7fff_ffff), Http2ErrorCode.flowControl],
    ['a window of another length', update(0, 1, 2), Http2ErrorCode.frameSize],
    ['a window of a stream that is not there', update(1, 1), Http2ErrorCode.protocol],
    ['a goodbye of another length', rawFrame(FrameType.goAway, 0, 0), Http2ErrorCode.frameSize],
    [
      'a frame that is too long',
      rawFrame(0x42, 0, 0, Buffer.alloc(RECEIVED_FRAME_BYTES + 1)),
      Http2ErrorCode.frameSize,
    ],
  ])('ends with %s', async (_, frames, code) => {
    const client = await start();
    client.socket.write(Buffer.concat([OPENING, frames]));
    expect(await goAwayCode(client)).toBe(code);
    expect(server.errors).toEqual([`HTTP/2 connection error ${code}`]);
    for (const { events } of server.served) expect(events.at(-1)).toBe('closed');
  });

  test.each([
    ['another first frame than settings', Buffer.concat([OPENING.subarray(0, 24), headers(1)])],
    ['data as its first frame', Buffer.concat([OPENING.subarray(0, 24), data(1, 'a')])],
    ['HTTP/1.1', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
  ])('ends with %s', async (_, bytes) => {
    const client = await start();
    client.socket.write(bytes);
    expect(await goAwayCode(client)).toBe(Http2ErrorCode.protocol);
  });
});

test('ends or goes on for any bytes, and the next connection is served', async () => {
  await start((served) => answer(served, 'fine'));
  const frame = fc.record({
    type: fc.nat(10),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 13, 32, 45),
    streamId: fc.nat(7),
    payload: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(new Uint8Array(requestBlock()))),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 12 }), fc.uint8Array({ maxLength: 20 }), async (frames, garbage) => {
      const client = await server.open();
      const bytes = frames.map((each) => rawFrame(each.type, each.flags, each.streamId, each.payload));
      client.socket.end(Buffer.concat([OPENING, ...bytes, garbage]));
      await waitFor(client.closed);
    }),
    { numRuns: propertyRuns(300) },
  );
  await waitFor(() => server.served.every(({ events }) => events.at(-1) === 'closed'));
  const client = await server.open();
  client.socket.write(Buffer.concat([OPENING, headers(1)]));
  await waitFor(() => String(dataOf(client, 1)) === 'fine');
});
