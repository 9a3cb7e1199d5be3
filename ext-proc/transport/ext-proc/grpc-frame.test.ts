import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BorrowedBytes, copyOf, lend } from '#packages/http2-server/borrowed-bytes.ts';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { frame, GrpcMessageReader } from './grpc-frame.ts';

const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });

function readerOf(maxMessageBytes: number, got: Buffer[] = []): GrpcMessageReader {
  return new GrpcMessageReader(maxMessageBytes, {
    message: (bytes, start, end) => got.push(copyOf(bytes, start, end)),
  });
}

function push(reader: GrpcMessageReader, bytes: Buffer) {
  return reader.push(lend(bytes), 0, bytes.length);
}

describe('GrpcMessageReader', () => {
  test('gives back the messages, however the bytes are cut', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map((message) => frame(message)));
        const got: Buffer[] = [];
        const reader = readerOf(1000, got);
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const end = Math.min(at + (cuts[cut % cuts.length] ?? 1), bytes.length);
          // In the middle of memory that is overwritten afterwards.
          const read = Buffer.concat([Buffer.alloc(cut % 2), bytes.subarray(at, end), Buffer.of(1)]);
          expect(reader.push(lend(read), cut % 2, read.length - 1)).toBeUndefined();
          read.fill(0xff);
          at = end;
        }
        expect(got.map((message) => message.toString('hex'))).toEqual(sent.map((m) => Buffer.from(m).toString('hex')));
      }),
    );
  });

  test('joins messages in pieces in the same memory, one after the other', () => {
    const memories = new Set<BorrowedBytes>();
    const texts: string[] = [];
    const reader = new GrpcMessageReader(200_000, {
      message(bytes, start, end) {
        memories.add(bytes);
        texts.push(`${end - start} ${bytes.toString('latin1', end - 1, end)}`);
      },
    });
    for (const [length, letter] of [
      [100_000, 'a'],
      [50_000, 'b'],
      [100_001, 'c'],
    ] as const) {
      const bytes = frame(Buffer.alloc(length, letter));
      push(reader, bytes.subarray(0, 20_000));
      push(reader, bytes.subarray(20_000));
    }
    expect(texts).toEqual(['100000 a', '50000 b', '100001 c']);
    expect(memories.size).toBe(1);
  });

  test('two readers do not share it while their messages are unfinished', () => {
    const got: Buffer[] = [];
    const readers = [readerOf(200_000, got), readerOf(200_000, got)];
    const sent = ['a', 'b'].map((letter) => frame(Buffer.alloc(100_000, letter)));
    for (const [from, to] of [
      [0, 60_000],
      [60_000, 100_005],
    ]) {
      for (const [index, reader] of readers.entries())
        push(reader, (sent[index] ?? Buffer.alloc(0)).subarray(from, to));
    }
    expect(got.map((message) => message.equals(Buffer.alloc(100_000, message[0])))).toEqual([true, true]);
    expect(got.map((message) => message.toString('latin1', 0, 1))).toEqual(['a', 'b']);
  });

  test('refuses a message above the limit as soon as its length is known, but not one at the limit', () => {
    expect(push(readerOf(10), frame(Buffer.alloc(11)).subarray(0, 5))).toBe('too_long');
    expect(push(readerOf(10), frame(Buffer.alloc(10)))).toBeUndefined();
  });

  test('refuses a compressed message', () => {
    expect(push(readerOf(10), Buffer.from([1, 0, 0, 0, 1, 7]))).toBe('compressed');
  });

  test('joins a large message in linear time', () => {
    const bytes = frame(Buffer.alloc(8 * 1024 * 1024));
    let got = 0;
    const reader = new GrpcMessageReader(bytes.length, {
      message(_, start, end) {
        got = end - start;
      },
    });
    const tookMs = cpuMsOf(() => {
      for (let at = 0; at < bytes.length; at += 1024) reader.push(lend(bytes), at, Math.min(at + 1024, bytes.length));
    });
    expect(got).toBe(bytes.length - 5);
    // Joining at each piece would copy 32 GiB.
    expect(tookMs).toBeLessThan(1_000);
  });
});
