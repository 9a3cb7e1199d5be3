import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameReader, frame } from './grpc-frame.ts';

const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });

describe('FrameReader', () => {
  test('gives back the messages, however the bytes are cut', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map((message) => frame(message)));
        const reader = new FrameReader(1000);
        const got: Buffer[] = [];
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const size = cuts[cut % cuts.length] ?? 1;
          expect(reader.push(bytes.subarray(at, at + size), (message) => got.push(message))).toBeUndefined();
          at += size;
        }
        expect(got.map((message) => message.toString('hex'))).toEqual(sent.map((m) => Buffer.from(m).toString('hex')));
      }),
    );
  });

  test('refuses a message above the limit as soon as its length is known, and one at the limit not', () => {
    expect(new FrameReader(10).push(frame(Buffer.alloc(11)).subarray(0, 5), () => undefined)).toBe('too_long');
    expect(new FrameReader(10).push(frame(Buffer.alloc(10)), () => undefined)).toBeUndefined();
  });

  test('refuses a compressed message', () => {
    expect(new FrameReader(10).push(Buffer.from([1, 0, 0, 0, 1, 7]), () => undefined)).toBe('compressed');
  });

  test('joins a large message in linear time', () => {
    const bytes = frame(Buffer.alloc(8 * 1024 * 1024));
    const reader = new FrameReader(bytes.length);
    let got = 0;
    const started = performance.now();
    for (let at = 0; at < bytes.length; at += 1024) {
      reader.push(bytes.subarray(at, at + 1024), (message) => {
        got = message.length;
      });
    }
    expect(got).toBe(bytes.length - 5);
    // Joining at each piece would copy 32 GiB.
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
