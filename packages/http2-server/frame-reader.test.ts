import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lend } from './borrowed-bytes.ts';
import { FrameReader } from './frame-reader.ts';
import { rawFrame } from './frames.fixture.ts';
import { FrameType, Http2ErrorCode, PREFACE } from './protocol.ts';

interface Heard {
  readonly frames: string[];
  readonly reader: FrameReader;
}

const push = (reader: FrameReader, bytes: Buffer) => reader.push(lend(bytes), bytes.length);

/** Consecutive data of one stream is one entry, whatever its pieces were. */
function listen(maxFrameBytes = 16_384): Heard {
  const frames: string[] = [];
  let data = '';
  const reader = new FrameReader(
    {
      frame(type, flags, streamId, bytes, start, end) {
        frames.push(`${type} ${flags} ${streamId} ${bytes.toString('hex', start, end)}`);
        return Http2ErrorCode.noError;
      },
      data(streamId, bytes, start, end, last) {
        data += bytes.toString('hex', start, end);
        if (!last) return Http2ErrorCode.noError;
        frames.push(`data ${streamId} ${data}`);
        data = '';
        return Http2ErrorCode.noError;
      },
    },
    maxFrameBytes,
  );
  return { frames, reader };
}

describe('FrameReader', () => {
  const frame = fc.record({
    type: fc.nat(12),
    flags: fc.nat(255),
    streamId: fc.nat(0x7fff_ffff),
    payload: fc.uint8Array({ maxLength: 300 }),
  });

  test('gives the same frames, however the bytes are cut', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), cuts, (sent, sizes) => {
        // All data ends its stream, so that it shows in one entry.
        const frames = sent.map((each) => (each.type === 0 ? { ...each, flags: each.flags | 1 } : each));
        const bytes = Buffer.concat([PREFACE, ...frames.map((f) => rawFrame(f.type, f.flags, f.streamId, f.payload))]);
        const { frames: heard, reader } = listen();
        for (let at = 0, cut = 0; at < bytes.length; cut++) {
          const size = sizes[cut % sizes.length] ?? 1;
          expect(push(reader, Buffer.from(bytes.subarray(at, at + size)))).toBe(Http2ErrorCode.noError);
          at += size;
        }
        const expected = frames.map(({ type, flags, streamId, payload }) => {
          const hex = Buffer.from(payload).toString('hex');
          return type === 0 && (flags & 8) === 0 ? `data ${streamId} ${hex}` : `${type} ${flags} ${streamId} ${hex}`;
        });
        expect(heard).toEqual(expected);
      }),
    );
  });

  test('passes data on as it comes', () => {
    const pieces: string[] = [];
    const reader = new FrameReader(
      {
        frame: () => Http2ErrorCode.noError,
        data(_, bytes, start, end, last) {
          pieces.push(`${bytes.toString('latin1', start, end)} ${last}`);
          return Http2ErrorCode.noError;
        },
      },
      16_384,
    );
    const bytes = Buffer.concat([PREFACE, rawFrame(FrameType.data, 1, 1, Buffer.from('abcd'))]);
    push(reader, bytes.subarray(0, -2));
    push(reader, bytes.subarray(-2));
    expect(pieces).toEqual(['ab false', 'cd true']);
  });

  test('refuses another preface at its first wrong byte', () => {
    expect(push(listen().reader, Buffer.from('G'))).toBe(Http2ErrorCode.protocol);
    expect(push(listen().reader, Buffer.from('PRI * HTTP/1'))).toBe(Http2ErrorCode.protocol);
  });

  test('refuses a too long frame by its head, and accepts the longest', () => {
    const opened = () => {
      const { reader } = listen(100);
      push(reader, PREFACE);
      return reader;
    };
    expect(push(opened(), rawFrame(4, 0, 0, Buffer.alloc(101)).subarray(0, 9))).toBe(Http2ErrorCode.frameSize);
    expect(push(opened(), rawFrame(4, 0, 0, Buffer.alloc(100)))).toBe(Http2ErrorCode.noError);
  });

  test('returns the error of its handler', () => {
    const listener = { frame: () => Http2ErrorCode.compression, data: () => Http2ErrorCode.flowControl };
    for (const [type, code] of [
      [FrameType.headers, Http2ErrorCode.compression],
      [FrameType.data, Http2ErrorCode.flowControl],
    ] as const) {
      expect(push(new FrameReader(listener, 100), Buffer.concat([PREFACE, rawFrame(type, 0, 1)]))).toBe(code);
    }
  });
});
