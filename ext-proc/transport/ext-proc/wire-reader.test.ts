import { BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lend } from '#packages/http2-server/borrowed-bytes.ts';
import { WireReader } from './wire-reader.ts';

const readerOf = (bytes: readonly number[]) => new WireReader(lend(Buffer.from(bytes)), 0, bytes.length);

describe('WireReader', () => {
  test('reads the numbers that another library writes', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const bytes = Buffer.from(new BinaryWriter().uint64(value).finish());
        const reader = new WireReader(lend(bytes), 0, bytes.length);
        expect(reader.varint()).toBe(value);
        expect(reader.more).toBe(false);
      }),
    );
  });

  test('skips fields of every kind', () => {
    const writer = new BinaryWriter()
      .tag(1, 0)
      .int64(-1)
      .tag(2, 1)
      .fixed64(7)
      .tag(3, 2)
      .string('text')
      .tag(4, 5)
      .fixed32(7);
    const bytes = Buffer.from(writer.finish());
    const reader = new WireReader(lend(bytes), 0, bytes.length);
    for (let field = 1; field <= 4; field++) {
      const tag = reader.varint();
      expect(tag >>> 3).toBe(field);
      reader.skip(tag);
    }
    expect(reader.more).toBe(false);
  });

  test('enters a field and leaves it', () => {
    const reader = readerOf([2, 7, 8, 9]);
    const outerEnd = reader.enter();
    expect([reader.varint(), reader.varint(), reader.more]).toEqual([7, 8, false]);
    expect(() => reader.varint()).toThrow(RangeError);
    reader.leave(outerEnd);
    expect(reader.varint()).toBe(9);
  });

  test.each([
    ['a length beyond the message', [0x0a, 5, 1]],
    ['a length beyond all numbers', [0x0a, ...Array(9).fill(0xff), 0x7f]],
    ['a number without an end', [0x08, ...Array(12).fill(0x80), 1]],
    ['a number that is cut off', [0x08, 0x80]],
    ['eight bytes that are not all there', [0x09, 1, 2]],
    ['four bytes that are not all there', [0x0d, 1]],
    ['a group', [0x0b, 0]],
  ])('%s throws', (_, bytes) => {
    const reader = readerOf(bytes);
    const tag = reader.varint();
    expect(() => reader.skip(tag)).toThrow(RangeError);
  });

  test('ends for any bytes, and never reads beyond them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (random) => {
        const reader = new WireReader(lend(Buffer.from(random)), 0, random.length);
        try {
          while (reader.more) reader.skip(reader.varint());
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          return;
        }
        expect(reader.at).toBe(random.length);
      }),
    );
  });
});
