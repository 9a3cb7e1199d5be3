import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameReader, frame } from './grpc-frame.ts';

const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });

function readerOf(maxMessageBytes: number, got: Buffer[] = []): FrameReader {
  return new FrameReader(maxMessageBytes, {
    message: (bytes, start, end) => got.push(Buffer.from(bytes.subarray(start, end))),
  });
}

function push(reader: FrameReader, bytes: Buffer) {
  return reader.push(bytes, 0, bytes.length);
}

describe('FrameReader', () => {
  test('gives back the messages, however the bytes are cut', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map((message) => frame(message)));
        const got: Buffer[] = [];
        const reader = readerOf(1000, got);
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const end = Math.min(at + (cuts[cut % cuts.length] ?? 1), bytes.length);
          // One time in the middle of a larger buffer, one time in a buffer of its own.
          const cutOff = cut % 2 === 0 ? reader.push(bytes, at, end) : push(reader, bytes.subarray(at, end));
          expect(cutOff).toBeUndefined();
          at = end;
        }
        expect(got.map((message) => message.toString('hex'))).toEqual(sent.map((m) => Buffer.from(m).toString('hex')));
      }),
    );
  });

  test('refuses a message above the limit as soon as its length is known, and one at the limit not', () => {
    expect(push(readerOf(10), frame(Buffer.alloc(11)).subarray(0, 5))).toBe('too_long');
    expect(push(readerOf(10), frame(Buffer.alloc(10)))).toBeUndefined();
  });

  test('refuses a compressed message', () => {
    expect(push(readerOf(10), Buffer.from([1, 0, 0, 0, 1, 7]))).toBe('compressed');
  });

  test('joins a large message in linear time', () => {
    const bytes = frame(Buffer.alloc(8 * 1024 * 1024));
    let got = 0;
    const reader = new FrameReader(bytes.length, {
      message(_, start, end) {
        got = end - start;
      },
    });
    const started = performance.now();
    for (let at = 0; at < bytes.length; at += 1024) reader.push(bytes, at, Math.min(at + 1024, bytes.length));
    expect(got).toBe(bytes.length - 5);
    // Joining at each piece would copy 32 GiB.
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
