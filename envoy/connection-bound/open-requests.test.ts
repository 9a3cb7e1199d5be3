import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { END_HEADERS, END_STREAM, FRAME, frame } from '#test/harness/raw-http2.ts';
import { countsOf, PREFACE, type SharedData, startThread } from './envoy-host.fixture.ts';

/** Open HTTP/2 requests of one address, on all of its connections together. */

const A = '192.0.2.1:1000';
const B = '192.0.2.1:1001';
const OTHER = '192.0.2.2:1000';

const opened = (stream: number, flags = END_HEADERS | END_STREAM) =>
  frame(FRAME.headers, flags, stream, Buffer.of(0x82));
const reset = (stream: number) => frame(FRAME.reset, 0, stream, Buffer.alloc(4));
const head = (stream: number) => frame(FRAME.headers, END_HEADERS, stream, Buffer.of(0x88));
const end = (stream: number) => frame(FRAME.data, END_STREAM, stream, Buffer.from('{}'));

function start(configuration: string, addresses = [A, B, OTHER]) {
  const shared: SharedData = new Map();
  const thread = startThread(shared, configuration);
  for (const address of addresses) {
    thread.open(address);
    expect(thread.receive(address, PREFACE)).toBe(true);
    thread.send(address, frame(FRAME.settings, 0, 0, Buffer.alloc(6)));
  }
  return { thread, open: () => countsOf(shared).requests, shared };
}

test('the connection that exceeds is closed, others of its address and other addresses stay', () => {
  const { thread, open } = start('10 3 1');
  expect(thread.receive(A, Buffer.concat([opened(1), opened(3)]))).toBe(true);
  expect(thread.receive(B, opened(1))).toBe(true);
  expect(thread.receive(B, opened(3))).toBe(false);
  expect(thread.receive(OTHER, opened(1))).toBe(true);
  // The one that exceeded never reached Envoy's HTTP; the other one ends with the connection.
  expect(open()).toBe(4);
  thread.close(B);
  expect(open()).toBe(3);
  expect(thread.receive(A, opened(5))).toBe(true);
  expect(thread.receive(A, opened(7))).toBe(false);
});

test('several threads count together', () => {
  const shared: SharedData = new Map();
  const threads = [startThread(shared, '0 2 1'), startThread(shared, '0 2 1')];
  const stays = threads.map((thread) => {
    thread.open(A);
    thread.receive(A, PREFACE);
    return thread.receive(A, Buffer.concat([opened(1), opened(3)]));
  });
  expect(stays).toEqual([true, false]);
});

test('a /48 has ten times as many as an address', () => {
  const addresses = Array.from({ length: 11 }, (_, index) => `[2001:db8:1:${index.toString(16)}::1]:99`);
  const { thread } = start('0 2 1', addresses);
  for (const [index, address] of addresses.entries()) {
    expect(thread.receive(address, Buffer.concat([opened(1), opened(3)]))).toBe(index < 10);
  }
});

describe('a request ends once', () => {
  test.each<[how: string, ends: (at: ReturnType<typeof start>['thread']) => void]>([
    ['the last DATA of the response', (at) => at.send(A, Buffer.concat([head(1), end(1)]))],
    ['a response without a body', (at) => at.send(A, frame(FRAME.headers, END_HEADERS | END_STREAM, 1))],
    [
      'the head of a response without a body, and CONTINUATION',
      (at) =>
        at.send(A, Buffer.concat([frame(FRAME.headers, END_STREAM, 1), frame(FRAME.continuation, END_HEADERS, 1)])),
    ],
    [
      'trailers of the response',
      (at) => at.send(A, Buffer.concat([head(1), frame(FRAME.data, 0, 1, Buffer.alloc(20_000)), opened(1)])),
    ],
    [
      'an empty DATA at the end',
      (at) =>
        at.send(
          A,
          Buffer.concat([head(1), frame(FRAME.data, 0, 1, Buffer.from('a')), frame(FRAME.data, END_STREAM, 1)]),
        ),
    ],
    ['a reset by the client', (at) => at.receive(A, reset(1))],
    ['a reset by Envoy', (at) => at.send(A, reset(1))],
  ])('%s', (_, ends) => {
    const { thread, open } = start('10 2 1');
    thread.receive(A, Buffer.concat([opened(1), opened(3)]));
    ends(thread);
    expect(open()).toBe(1);
    thread.send(A, Buffer.concat([end(1), reset(1)]));
    thread.receive(A, reset(1));
    ends(thread);
    expect(open()).toBe(1);
    expect(thread.receive(A, opened(5))).toBe(true);
    thread.close(A);
    expect(open()).toBe(0);
  });
});

test.each<[what: string, frames: readonly Buffer[]]>([
  ['trailers of the request', [frame(FRAME.data, 0, 1, Buffer.from('{')), opened(1)]],
  ['CONTINUATION', [frame(FRAME.continuation, END_HEADERS, 1)]],
  ['HEADERS of a stream that has ended', [reset(1), opened(1), opened(3, END_STREAM)]],
  ['HEADERS inside the content of a frame', [frame(FRAME.data, 0, 1, Buffer.concat([opened(5), opened(7)]))]],
  ['the end of the client, whose response is still to come', [frame(FRAME.data, END_STREAM, 1)]],
  [
    'frames of the connection',
    [frame(FRAME.settings, 0, 0), frame(FRAME.ping, 0, 0, Buffer.alloc(8)), frame(FRAME.goAway, 0, 0, Buffer.alloc(8))],
  ],
])('%s: no other request', (_, frames) => {
  const { thread, open } = start('10 1 1');
  thread.receive(A, opened(1, END_HEADERS));
  for (const one of frames) expect(thread.receive(A, one)).toBe(true);
  expect(open()).toBe(1);
});

test('head, padding and priority of HEADERS change nothing, and the reserved bit of a stream is none of its number', () => {
  const { thread, open } = start('10 2 1');
  const padded = frame(
    FRAME.headers,
    END_HEADERS | 8 | 32,
    1,
    Buffer.concat([Buffer.of(3), Buffer.alloc(5), Buffer.of(0x82), Buffer.alloc(3)]),
  );
  thread.receive(A, padded);
  const reserved = Buffer.from(opened(3));
  reserved.writeUInt32BE(0x8000_0003, 5);
  thread.receive(A, reserved);
  expect(open()).toBe(2);
  thread.send(A, Buffer.concat([end(1), end(3)]));
  expect(open()).toBe(0);
});

test('what does not begin as HTTP/2 has no requests here, and without a bound nothing is counted', () => {
  const { thread, open } = start('10 0 1');
  for (let stream = 1; stream < 100; stream += 2) expect(thread.receive(A, opened(stream))).toBe(true);
  expect(open()).toBe(0);
  const { thread: other, open: openThere } = start('10 1 1', []);
  other.open(A);
  expect(other.receive(A, Buffer.from('POST / HTTP/1.1\r\n\r\n'))).toBe(true);
  expect(other.receive(A, Buffer.concat([PREFACE, opened(1), opened(3)]))).toBe(true);
  expect(openThere()).toBe(0);
});

test('the count is that of open requests, in any order of events and with bytes cut at any position', () => {
  type Turn = 'open' | 'end' | 'reset' | 'cancel' | 'trailers' | 'upload' | 'answer';
  const turn = fc.constantFrom<Turn[]>('open', 'open', 'end', 'reset', 'cancel', 'trailers', 'upload', 'answer');
  const cuts = fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(fc.tuple(turn, fc.nat(), fc.nat(3_000)), { maxLength: 80 }), cuts, (turns, pieces) => {
      const shared: SharedData = new Map();
      const thread = startThread(shared, '0 1000 1');
      thread.open(A);
      const open = new Set<number>();
      let newest = -1;
      let cut = 0;
      const inPieces = (bytes: Buffer, pass: (piece: Buffer) => void) => {
        for (let at = 0; at < bytes.length; cut++) {
          const size = pieces[cut % pieces.length] ?? 1;
          pass(bytes.subarray(at, at + size));
          at += size;
        }
      };
      const receive = (bytes: Buffer) => inPieces(bytes, (piece) => expect(thread.receive(A, piece)).toBe(true));
      const send = (bytes: Buffer) => inPieces(bytes, (piece) => thread.send(A, piece));
      receive(PREFACE);
      for (const [what, which, size] of turns) {
        const stream = [...open][which % Math.max(open.size, 1)];
        if (what === 'open' || stream === undefined) {
          newest += 2;
          open.add(newest);
          receive(frame(FRAME.headers, END_HEADERS, newest, Buffer.alloc(size)));
          continue;
        }
        if (what === 'trailers') receive(opened(stream));
        if (what === 'upload') receive(frame(FRAME.data, 0, stream, Buffer.alloc(size, opened(9_999))));
        if (what === 'answer') send(frame(FRAME.data, 0, stream, Buffer.alloc(size, end(stream))));
        if (what === 'end') send(frame(FRAME.data, END_STREAM, stream, Buffer.alloc(size)));
        if (what === 'reset') send(reset(stream));
        if (what === 'cancel') receive(reset(stream));
        if (what === 'end' || what === 'reset' || what === 'cancel') open.delete(stream);
        expect(countsOf(shared).requests).toBe(open.size);
      }
      thread.close(A);
      expect(countsOf(shared)).toEqual({ connections: 0, requests: 0 });
    }),
  );
});
