import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { type SseEvent, SseSplitter } from './sse-splitter.ts';

const MAX = 1024 * 1024;

function splitWhole(bytes: Buffer): SseEvent[] {
  return splitAt(bytes, []);
}

/** The events of the stream when it arrives cut at these positions. */
function splitAt(bytes: Buffer, cuts: readonly number[]): SseEvent[] {
  const splitter = new SseSplitter(MAX);
  const events: SseEvent[] = [];
  let start = 0;
  for (const cut of [...cuts].sort((a, b) => a - b).concat(bytes.length)) {
    splitter.push(Buffer.from(bytes.subarray(start, cut)));
    events.push(...takeAll(splitter));
    start = cut;
  }
  splitter.finish();
  return [...events, ...takeAll(splitter)];
}

function takeAll(splitter: SseSplitter): SseEvent[] {
  const events: SseEvent[] = [];
  for (let event = splitter.next(); event !== undefined; event = splitter.next()) events.push(event);
  return events;
}

function dataOf(text: string): string[] {
  return splitWhole(Buffer.from(text)).map((event) => event.data);
}

const line = fc.oneof(
  fc.constantFrom(
    ...['', ':', ': ping', 'data', 'data:', 'data: ', 'data:x', 'data:  two spaces', 'data: [DONE]'],
    ...['event: error', 'id: 7', 'retry: 1', 'dataset: no'],
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
);
const lineEnding = fc.constantFrom('\n', '\r', '\r\n');
const stream = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(line, lineEnding), { maxLength: 20 }))
  .map(([bom, lines]) => Buffer.from((bom ? '\ufeff' : '') + lines.map(([text, end]) => text + end).join('')));

test('an event above the bound is skipped as a whole, in any pieces, and the next one is read', () => {
  const lines = ['data: first\n\n', `data: ${'x'.repeat(3000)}\ndata: more\n\n`, 'data: last\n\n'];
  const bytes = Buffer.from(lines.join(''));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), (size) => {
      const splitter = new SseSplitter(1000);
      const events: SseEvent[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        if (splitter.isTooLarge) splitter.skipEvent();
        splitter.push(bytes.subarray(at, at + size));
        events.push(...takeAll(splitter));
      }
      expect(events.map(({ data }) => data)).toEqual(['first', 'last']);
    }),
  );
});

describe('splitting a stream into events', () => {
  test('gives the same events however the bytes are cut', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 400 }), { maxLength: 30 }), (bytes, positions) => {
        const cuts = positions.map((position) => position % (bytes.length + 1));
        expect(splitAt(bytes, cuts)).toEqual(splitWhole(bytes));
      }),
      { numRuns: 500 },
    );
  });

  test('gives the same events for single bytes, characters of four bytes included', () => {
    const bytes = Buffer.from('data: {"a":"é漢👩‍👧"}\r\n\r\ndata: b\n\n');
    const everywhere = Array.from(bytes.keys());
    expect(splitAt(bytes, everywhere)).toEqual([
      { type: '', data: '{"a":"é漢👩‍👧"}' },
      { type: '', data: 'b' },
    ]);
  });

  test.each([
    ['LF', 'data: a\n\ndata: b\n\n', ['a', 'b']],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
    ['CR', 'data: a\r\rdata: b\r\r', ['a', 'b']],
    ['several data lines', 'data: a\ndata: b\n\n', ['a\nb']],
    ['one space after the colon, not two', 'data:a\n\ndata:  b\n\n', ['a', ' b']],
    ['comments, ids and retries', ': hi\nid: 1\nretry: 5\ndata: a\n\n: bye\n\n', ['a']],
    ['a byte order mark', '\ufeffdata: a\n\n', ['a']],
    ['other fields that begin alike', 'database: a\n\ndata: b\n\n', ['b']],
    ['no empty line at the end', 'data: a\n\ndata: b\n', ['a', 'b']],
    ['no line end at the end', 'data: a\n\ndata: b', ['a', 'b']],
    ['nothing', '', []],
  ])('reads %s', (_, text, expected) => {
    expect(dataOf(text)).toEqual(expected);
  });

  test('uses an event type only for its own event', () => {
    expect(splitWhole(Buffer.from('event: error\ndata: a\n\ndata: b\n\nevent: lost\n\ndata: c\n\n'))).toEqual([
      { type: 'error', data: 'a' },
      { type: '', data: 'b' },
      { type: '', data: 'c' },
    ]);
  });

  test('refuses an event above its bound, in one line or in many', () => {
    const oneLine = new SseSplitter(1000);
    const isTooLargeAfter = (splitter: SseSplitter, text: string) => {
      splitter.push(Buffer.from(text));
      expect(splitter.next()).toBeUndefined();
      return splitter.isTooLarge;
    };
    expect(isTooLargeAfter(oneLine, `data: ${'x'.repeat(900)}`)).toBe(false);
    expect(isTooLargeAfter(oneLine, 'x'.repeat(200))).toBe(true);
    const manyLines = new SseSplitter(1000);
    expect(isTooLargeAfter(manyLines, 'data: xxxx\n'.repeat(99))).toBe(false);
    expect(isTooLargeAfter(manyLines, 'data: xxxx\n'.repeat(99))).toBe(true);
  });

  test('works linearly on an event that arrives byte by byte', () => {
    const splitter = new SseSplitter(8 * MAX);
    const bytes = Buffer.from(`data: ${'x'.repeat(MAX)}\n\n`);
    let events = 0;
    const tookMs = cpuMsOf(() => {
      for (let at = 0; at < bytes.length; at++) {
        splitter.push(bytes.subarray(at, at + 1));
        if (splitter.next() !== undefined) events++;
      }
    });
    expect(events).toBe(1);
    // A quadratic splitter copies 5e11 bytes here.
    expect(tookMs).toBeLessThan(5000);
  });
});
